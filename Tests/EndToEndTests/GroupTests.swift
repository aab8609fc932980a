import Foundation
import TestSupport
import Testing

/// Groups that come by a network interface to which no route of groups leads.
@Suite(.serialized, .enabled(if: NeighbouringMachine.works))
struct GroupTests {
  @Test("an RTSP server's group comes where its connection does")
  func connection() throws {
    let machine = try NeighbouringMachine()
    let port = try FreePort.udpPair()
    let server = try RTSPSendTests.Server(
      [("pattern", "live")],
      ["--multicast", "239.255.42.11:\(port)"] + RTSPSendTests.small,
      host: machine.address, on: machine)
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url("live"), "--rtsp-transport", "multicast", "--frames", "30"]
        + ["-o", Scratch.path("y4m")])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try server.stop() == 0)
    withExtendedLifetime(machine) {}
  }

  @Test("a group comes again by an adapter that was plugged in anew")
  func adapter() throws {
    var machine: NeighbouringMachine? = try NeighbouringMachine()
    let port = try FreePort.udpPair()
    let destination = "239.255.42.12:\(port)"
    func sender() throws -> RunningProcess {
      try RunningProcess(
        "env",
        (machine?.prefix ?? []) + [Product.rtpSend, "pattern", "udp://\(destination)"]
          + RTSPSendTests.small)
    }
    let output = try Scratch.path("h264")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://\(destination)", "--interface", machine?.interface ?? "", "--reconnect"]
        + ["-o", output])
    _ = try receiver.waitForLine(#/listening on/#)
    let first = try sender()
    try waitUntil("pictures come") { Scratch.size(of: output) > 0 }
    first.send(signal: SIGKILL)
    try first.waitForExit()
    machine = nil
    machine = try NeighbouringMachine()
    let second = try sender()
    // More than what was on its way to the file when the first sender ended.
    let size = Scratch.size(of: output)
    try waitUntil("they come again") { Scratch.size(of: output) > size + 200_000 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    withExtendedLifetime((machine, second)) {}
  }
}

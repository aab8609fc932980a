import Foundation
import TestSupport
import Testing

/// A network that takes less than `rtp-send udp://…` gives: it ends when everything has left, or
/// soon after it is told to.
@Suite(.serialized)
struct SlowNetworkTests {
  /// Runs a command where loopback carries a megabit a second.
  ///
  /// Loopback as it is takes everything at once.
  private static let slow = [
    "unshare", "--net", "sh", "-c",
    "ip link set lo up && tc qdisc add dev lo root tbf rate 1mbit burst 20kb limit 64mb"
      + " && exec \"$@\"", "sh",
  ]

  /// Only root may have networks of its own, and not in every container.
  private static let works = (try? RunningProcess.output(of: "env", slow + ["true"])) != nil

  /// Starts a sender to a port of its own, and takes what comes.
  ///
  /// It ends the sender after so many packets, or else waits for the goodbye. It prints how many
  /// packets came, whether they were in order without a hole, what came behind a goodbye, and how
  /// the sender ended.
  private static let receiver = """
    import signal, socket, subprocess, sys
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(60)
    program, source, most, *options = sys.argv[1:]
    url = f"udp://127.0.0.1:{receiver.getsockname()[1]}"
    sender = subprocess.Popen([program, source, url, "--fast", "--stats", "-", *options])
    numbers, goodbye = [], False
    while not goodbye and len(numbers) != int(most):
        packet = receiver.recv(65536)
        if 192 <= packet[1] <= 223: goodbye = packet[-8:-4] == bytes([0x81, 203, 0, 1])
        else: numbers.append(packet[2] << 8 | packet[3])
    if not goodbye: sender.send_signal(signal.SIGTERM)
    status = sender.wait(15)
    behind = 0
    receiver.setblocking(False)
    try:
        while goodbye:
            receiver.recv(65536)
            behind += 1
    except BlockingIOError: pass
    holes = sum((b - a) % 65536 != 1 for a, b in zip(numbers, numbers[1:]))
    print(f"came {len(numbers)} holes {holes} behind {behind} status {status}")
    """

  /// What the receiver printed.
  private struct Outcome {
    var came: Int
    var holes: Int
    var behind: Int
    var status: Int
    /// How many packets the sender says that it sent.
    var sent: Int
  }

  private func run(_ prefix: [String], most: Int = -1, loops: Int) throws -> Outcome {
    let output = try RunningProcess.output(
      of: "env",
      prefix + ["/usr/bin/python3", "-c", Self.receiver, Product.rtpSend, Clip.h264.get().path]
        + ["\(most)", "--loop", "\(loops)"], within: 120)
    let text = String(decoding: output, as: UTF8.self)
    let found = try #require(
      text.firstMatch(of: #/came (\d+) holes (\d+) behind (\d+) status (-?\d+)/#), "\(text)")
    let sent = try #require(text.firstMatch(of: #/"packets":(\d+)/#), "\(text)")
    return Outcome(
      came: Int(found.1) ?? -1, holes: Int(found.2) ?? -1, behind: Int(found.3) ?? -1,
      status: Int(found.4) ?? -1, sent: Int(sent.1) ?? -1)
  }

  private func expectEverything(_ outcome: Outcome) {
    #expect(outcome.came == outcome.sent)
    #expect(outcome.holes == 0)
    #expect(outcome.behind == 0)
    #expect(outcome.status == 0)
  }

  @Test func theGoodbyeComesBehindTheLastPacket() throws {
    expectEverything(try withoutKernelDrops { try run([], loops: 1) })
  }

  @Test("the same where the source has ended seconds before", .enabled(if: works))
  func lastPacketsWait() throws {
    expectEverything(try run(Self.slow, loops: 2))
  }

  /// All of it would take half a minute.
  @Test(.enabled(if: works)) func aNetworkDoesNotHoldAProgramThatIsStopped() throws {
    let outcome = try run(Self.slow, most: 60, loops: 20)
    #expect(outcome.came == 60)
    #expect(outcome.status == 0)
  }
}

import Foundation
import TestSupport
import Testing

@testable import CommandLineTool

/// Files that are the sources of cameras.
struct FleetPlanTests {
  private static func cameras(_ text: String) throws -> [FleetPlan.Camera] {
    try FleetPlan(FleetFile(text, path: "cameras.yaml"), path: "cameras.yaml").cameras
  }

  private static func description(port: Int) -> String {
    """
    v=0\r
    o=- 1 1 IN IP4 127.0.0.1\r
    s=-\r
    c=IN IP4 127.0.0.1\r
    t=0 0\r
    m=video \(port) RTP/AVP 96\r
    a=rtpmap:96 H264/90000\r

    """
  }

  @Test(
    "an edited description of a source begins its camera anew, and a recording that grows does not")
  func editedSource() throws {
    let folder = try TemporaryFolder()
    let (described, recorded) = (folder("a.sdp"), folder("b.pcapng"))
    func write(port: Int, packets: Int) throws {
      try Self.description(port: port).write(toFile: described, atomically: true, encoding: .utf8)
      try String(repeating: "packet", count: packets).write(
        toFile: recorded, atomically: true, encoding: .utf8)
    }
    func cameras() throws -> [FleetPlan.Camera] {
      try Self.cameras("cameras: {a: {source: '\(described)'}, b: {source: '\(recorded)'}}")
    }
    try write(port: 5004, packets: 1)
    let former = try cameras()
    #expect(try zip(former, cameras()).map { $0.isSame(as: $1) } == [true, true])
    try write(port: 5006, packets: 2)
    #expect(try zip(former, cameras()).map { $0.isSame(as: $1) } == [false, true])
  }

  @Test("no camera writes over what another one receives", arguments: ["a.sdp", "a.pcapng"])
  func overwrittenSource(name: String) throws {
    let folder = try TemporaryFolder()
    try Self.description(port: 5004).write(
      toFile: folder(name), atomically: true, encoding: .utf8)
    let fault = #expect(throws: FleetFile.Fault.self) {
      try Self.cameras(
        "cameras: {a: {source: '\(folder(name))'}, "
          + "b: {source: 'rtp://:0', capture: '\(folder(name))'}}")
    }
    #expect(fault?.words == "camera 'b' would write over a file that the fleet reads")
  }
}

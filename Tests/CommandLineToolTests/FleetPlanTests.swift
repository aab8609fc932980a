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

  @Test("a camera that still writes holds up who writes there by another path")
  func samePlace() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder("real"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: folder("link"), withDestinationPath: folder("real"))
    func camera(_ name: String, _ path: String) throws -> FleetPlan.Camera {
      try #require(
        Self.cameras("cameras: {\(name): {source: 'rtp://:0', capture: '\(folder(path))'}}").first)
    }
    let former = try camera("a", "real/a.pcapng")
    // It has begun since.
    try "".write(toFile: folder("real/a.pcapng"), atomically: true, encoding: .utf8)
    #expect(try former.holdsUp(camera("b", "link/a.pcapng")))
    #expect(try !former.holdsUp(camera("b", "link/b.pcapng")))
  }

  /// A file with a password, readable by its owner alone.
  private static func password(in folder: TemporaryFolder) throws -> String {
    let path = folder("password")
    try "secret".write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    return path
  }

  @Test(
    "the login of the other cameras is left out for a camera that has no use for it",
    arguments: [
      "udp://127.0.0.1:5004", "rtp://:5004", "tcp://127.0.0.1:5004", "a.sdp", "a.pcapng",
      "nats://127.0.0.1:4222/door",
    ], ["", "user: viewer, "])
  func defaultLogin(source: String, user: String) throws {
    let folder = try TemporaryFolder()
    try Self.description(port: 5004).write(
      toFile: folder("a.sdp"), atomically: true, encoding: .utf8)
    let source = source.contains(":") ? source : folder(source)
    // Nobody reads it either.
    let cameras = try Self.cameras(
      "defaults: {\(user)password-file: /nowhere}\ncameras: {a: {source: '\(source)'}}")
    #expect(cameras.first?.command.login.passwordFile == nil)
    #expect(cameras.first?.command.login.user == nil)
  }

  @Test("a camera that anybody may watch has no use for the password of the others")
  func openCamera() throws {
    let folder = try TemporaryFolder()
    let cameras = try Self.cameras(
      """
      defaults: {password-file: '\(Self.password(in: folder))'}
      cameras:
        open: {source: 'rtsp://127.0.0.1:1/x'}
        closed: {source: 'rtsp://viewer@127.0.0.1:1/x'}
      """)
    #expect(cameras.map { $0.command.login.passwordFile == nil } == [true, false])
  }

  @Test("a password of a camera itself needs a user name, and the key is said")
  func passwordWithoutUser() throws {
    let folder = try TemporaryFolder()
    let password = try Self.password(in: folder)
    let fault = #expect(throws: FleetFile.Fault.self) {
      try Self.cameras(
        "cameras: {a: {source: 'rtsp://127.0.0.1:1/x', password-file: '\(password)'}}")
    }
    #expect(fault?.words.contains("give it with 'user'") == true, "\(fault?.words ?? "")")
  }

  @Test(
    "a login of a camera is refused for NATS, whose logins are in the environment",
    arguments: [
      ("source: 'nats://127.0.0.1/door', user: viewer", "--user has no effect with nats://"),
      ("source: 'nats://viewer:canary@127.0.0.1/door'", "NATS_PASSWORD"),
    ])
  func loginForNATS(camera: String, words: String) throws {
    let fault = #expect(throws: FleetFile.Fault.self) {
      try Self.cameras("cameras: {a: {\(camera)}}")
    }
    #expect(fault?.words.contains(words) == true, "\(fault?.words ?? "")")
    #expect(fault?.words.contains("canary") == false)
  }

  @Test(
    "a mistake in a key is said of that key",
    arguments: [
      ("segment: true", "'segment' needs a value"),
      ("output: [a.mp4, true]", "'output' needs a value"),
      ("user: true, password-file: b", "'user' needs a value"),
      ("log: a", "Unknown option '--log'."), ("oo: a", "Unknown option '--oo'."),
      ("z: true", "Unknown option '--z'."), ("fc: a", "Unknown option '--fc'."),
      ("fe: a", "Unknown option '--fe'."),
      ("fecc: a", "Unknown option '--fecc'. Did you mean '--fec'?"),
      ("segmnt: 10m", "Unknown option '--segmnt'. Did you mean '--segment'?"),
    ])
  func key(text: String, words: String) throws {
    let fault = #expect(throws: FleetFile.Fault.self) {
      try Self.cameras("cameras: {a: {source: 'rtsp://127.0.0.1:1/x', \(text)}}")
    }
    #expect(fault?.words == "camera 'a': \(words)")
  }

  @Test(
    "a rule about decoded frames is warned of where a camera only records, even as a default",
    arguments: [
      "cameras: {a: {source: 'rtp://:0', output: a.mp4, expect: 'intact=100%'}}",
      "defaults: {expect: 'intact=100%'}\ncameras: {a: {source: 'rtp://:0', output: a.mp4}}",
    ])
  func rule(text: String) throws {
    let plan = try FleetPlan(FleetFile(text, path: "cameras.yaml"), path: "cameras.yaml")
    #expect(plan.cameras.count == 1)
    let words = "camera 'a': --expect 'intact=100%': decoded frames alone show that"
    #expect(plan.warnings.contains { $0.contains(words) }, "\(plan.warnings)")
    let decoded = text.replacing("output: a.mp4", with: "output: [a.mp4, a.jsonl]")
    let other = try FleetPlan(FleetFile(decoded, path: "cameras.yaml"), path: "cameras.yaml")
    #expect(!other.warnings.contains { $0.contains("--expect") }, "\(other.warnings)")
  }

  @Test("a camera is not received for no time at all")
  func duration() throws {
    let fault = #expect(throws: FleetFile.Fault.self) {
      try Self.cameras("cameras: {a: {source: 'rtp://:0', duration: 0}}")
    }
    let words = fault?.words ?? ""
    #expect(words.contains("--duration must be above 0"), "\(words)")
  }

  @Test("what cannot be received or written as it is now is warned of")
  func absentFiles() throws {
    let folder = try TemporaryFolder()
    let taken = folder("taken.mp4")
    try FileManager.default.createDirectory(atPath: taken, withIntermediateDirectories: false)
    let plan = try FleetPlan(
      FleetFile(
        """
        cameras:
          a: {source: '\(folder("none.pcapng"))', output: '\(folder("a.mp4"))'}
          b: {source: 'rtsp://127.0.0.1:1/x', output: ['\(taken)', '\(folder("b.mp4"))']}
          c: {source: '127.0.0.1/x', transport: rtsp, output: '\(folder("c.mp4"))'}
          d: {source: 'rtsp://127.0.0.1:1/y', output: '${NAME}.mp4'}
        """, path: "f.yaml"), path: "f.yaml")
    #expect(
      plan.warnings == [
        "f.yaml:2:3: camera 'a': there is no file \(folder("none.pcapng"))",
        "f.yaml:3:3: camera 'b': \(taken) is a folder; name a file in it",
        "f.yaml:5:3: camera 'd': variables such as ${NAME} are not replaced in this file",
      ])
  }

  @Test(
    "a camera of which nothing is left is warned of, unless it is seen",
    arguments: [
      ("", "", false, true), ("", ", quiet: true", false, true), ("", "", true, false),
      ("serve: '127.0.0.1:0'\n", "", false, false), ("", ", output: a.mp4", false, false),
      ("", ", stats: a.jsonl", false, false), ("", ", capture: a.pcapng", false, false),
      ("", ", expect: 'fps>=1'", false, false),
    ])
  func uselessCamera(page: String, options: String, isWatched: Bool, isWarnedOf: Bool) throws {
    let text = "\(page)cameras:\n  none: {source: 'rtsp://127.0.0.1:1/x'\(options)}"
    let plan = try FleetPlan(
      FleetFile(text, path: "f.yaml"), path: "f.yaml", isWatched: isWatched)
    let words = "camera 'none' writes nothing; it has no output, stats or capture"
    #expect(plan.warnings.map { $0.hasSuffix(words) } == (isWarnedOf ? [true] : []))
  }
}

import Foundation
import TestSupport
import Testing

/// `rtp-recv fleet --cluster`: machines that divide cameras among themselves.
@Suite(.serialized)
struct ClusterTests {
  /// `RTP_RECV_CLUSTER_CAMERAS=60` tries more.
  private static let count =
    ProcessInfo.processInfo.environment["RTP_RECV_CLUSTER_CAMERAS"].flatMap { Int($0) } ?? 6

  private static let names = (0..<count).map { "camera-\($0)" }

  /// Machines are folders, in which each writes its own files.
  private final class Machine {
    let folder: TemporaryFolder
    private(set) var process: RunningProcess

    init(
      _ server: NATSServer, cameras: String? = nil, environment: [String: String] = [:]
    ) throws {
      let folder = try TemporaryFolder()
      if let cameras {
        try cameras.write(to: folder.url("cameras.yaml"), atomically: true, encoding: .utf8)
      }
      self.folder = folder
      process = try RunningProcess(
        "sh",
        [
          "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", folder.path, Product.rtpRecv, "fleet",
          "--cluster", "nats://127.0.0.1:\(server.port)/test",
        ] + (cameras == nil ? [] : ["cameras.yaml"]), environment: environment)
    }

    /// Bytes of the recording of each camera.
    var sizes: [String: Int] {
      ClusterTests.names.reduce(into: [:]) { sizes, name in
        let size = Scratch.size(of: folder("\(name).mkv"))
        if size > 0 { sizes[name] = size }
      }
    }

    /// Cameras of which something was written lately, maybe over an older recording.
    func growing(since former: [String: Int]) -> Set<String> {
      Set(sizes.filter { $0.value != former[$0.key] ?? 0 }.keys)
    }

    func end() throws -> Int32 {
      process.send(signal: SIGTERM)
      return try process.waitForExit()
    }
  }

  private static func cameras(_ url: String, on server: NATSServer) -> String {
    "defaults: {timeout: 60}\ncameras:\n"
      + names.map { name in
        "  \(name): {source: '\(url)', output: [\(name).mkv, '\(server.url(name))']}\n"
      }.joined()
  }

  /// Waits until each camera is written by exactly one machine.
  private static func waitUntilAllAreRecorded(_ machines: [Machine], _ what: String) throws {
    try waitUntil(what, within: .seconds(90)) {
      let before = machines.map(\.sizes)
      usleep(500_000)
      let growing = zip(machines, before).flatMap { Array($0.growing(since: $1)) }
      return growing.count == count && Set(growing).count == count
    }
  }

  /// Waits until each camera has grown since `former`, and returns at which machines.
  private static func waitUntilAllHaveGrown(
    _ machines: [Machine], since former: [[String: Int]], _ what: String
  ) throws -> [Set<String>] {
    var growing: [Set<String>] = []
    try waitUntil(what) {
      growing = zip(machines, former).map { $0.growing(since: $1) }
      return growing.reduce(Set()) { $0.union($1) }.count == count
    }
    return growing
  }

  @Test("one that is killed is followed by the others, and a new one takes its share")
  func cluster() throws {
    let server = try NATSServer()
    let source = try RTSPSendTests.Server(
      [("pattern", "camera")], ["--size", "256x144", "--bitrate", "100k"])
    let first = try Machine(server, cameras: Self.cameras(source.url("camera"), on: server))
    var machines = [first, try Machine(server), try Machine(server)]
    try Self.waitUntilAllAreRecorded(machines, "all cameras are recorded")
    try waitUntil("the load is divided") {
      machines.allSatisfy { $0.sizes.count >= Self.count / 3 }
    }

    // The server of NATS is killed and started again: nobody stops.
    let before = machines.map(\.sizes)
    try server.kill()
    // Longer than a lease lasts, on purpose.
    sleep(7)
    let growing = try Self.waitUntilAllHaveGrown(
      machines, since: before, "all cameras go on without the server")
    #expect(growing.reduce(0) { $0 + $1.count } == Self.count)
    let meanwhile = machines.map(\.sizes)
    try server.start()
    // Longer than nobody takes anything, on purpose.
    sleep(7)
    let after = try Self.waitUntilAllHaveGrown(
      machines, since: meanwhile, "all cameras go on with the server")
    #expect(after == growing)

    // A machine is killed: the others have its cameras soon.
    let killed = machines.removeLast()
    let orphans = killed.growing(since: before.last ?? [:])
    let published = try server.messages(of: orphans.first ?? "")
    let others = machines.map(\.sizes)
    killed.process.send(signal: SIGKILL)
    let start = ContinuousClock.now
    try killed.process.waitForExit()
    try waitUntil("the cameras of the dead machine are recorded again") {
      let back = zip(machines, others).flatMap { Array($0.growing(since: $1)) }
      return orphans.isSubset(of: back)
    }
    print("\(orphans.count) of \(Self.count) cameras are back after \(start.duration(to: .now))")
    try Self.waitUntilAllAreRecorded(machines, "each camera is recorded once")
    #expect(try server.messages(of: orphans.first ?? "") >= published)

    // What was published before and behind that is read in one go.
    let reader = try RunningProcess(
      Product.rtpRecv,
      [server.url(orphans.first ?? "", "?since=10m"), "--stats", "-"])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")

    // One that is added takes its share.
    machines.append(try Machine(server))
    try waitUntil("the new machine has its share", within: .seconds(90)) {
      (machines.last?.sizes.count ?? 0) >= Self.count / 3
    }
    try Self.waitUntilAllAreRecorded(machines, "each camera is recorded once again")
    for machine in machines { #expect(try machine.end() == 0, "\(machine.process.standardError)") }
    #expect(try source.stop() == 0)
  }

  @Test("each machine has its own place for a password, and takes it up when it is told to")
  func passwords() throws {
    let server = try NATSServer()
    let source = try RTSPSendTests.Server(
      [("pattern", "camera")], RTSPSendTests.small + ["--accounts", try RTSPSendTests.accounts()])
    let url = source.url("camera").replacing("://", with: "://viewer@")
    let cameras =
      "cameras:\n  camera-0: {source: '\(url)', credential: camera, output: camera-0.mkv}\n"
    let first = try TemporaryFolder()
    try Self.write("wrong", to: first("camera"))
    var machine = try Machine(
      server, cameras: cameras, environment: ["CREDENTIALS_DIRECTORY": first.path])
    _ = try machine.process.waitForLine(#/camera-0: .*refuses the user name/#)
    try Self.write("canary", to: first("camera"))
    machine.process.send(signal: SIGHUP)
    _ = try machine.process.waitForLine(#/camera-0: what it reads has changed/#)
    try waitUntil("the camera is recorded") { !machine.sizes.isEmpty }
    #expect(try machine.end() == 0, "\(machine.process.standardError)")
    try FileManager.default.removeItem(atPath: first("camera"))

    let second = try TemporaryFolder()
    try Self.write("canary", to: second("camera"))
    machine = try Machine(server, environment: ["CREDENTIALS_DIRECTORY": second.path])
    try waitUntil("another machine records the camera") { !machine.sizes.isEmpty }
    #expect(try machine.end() == 0, "\(machine.process.standardError)")
    #expect(try source.stop() == 0)
  }

  private static func write(_ password: String, to path: String) throws {
    try password.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  @Test(
    "what cannot be meant is said",
    arguments: [
      (["--cluster", "nats://"], "the host is missing"),
      (["--cluster", "nats://me:canary@h"], "NATS_PASSWORD"),
      (["--capacity", "3", "x.yaml"], "--capacity has no effect"),
      (["--cluster", "nats://h", "--capacity", "0"], "--capacity must be"),
      ([], "<file>"),
    ])
  func mistakes(arguments: [String], words: String) throws {
    let process = try RunningProcess(Product.rtpRecv, ["fleet"] + arguments)
    #expect(try process.waitForExit() == 64)
    #expect(process.standardError.contains(words), "\(process.standardError)")
    #expect(!process.standardError.contains("canary"))
  }
}

import Foundation
import Glibc
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Decode
@testable import Outputs

/// The ring of frames, with readers in C and Python in processes of their own.
@Suite(.serialized)
struct RingTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The reader in C, built with the header that programs get.
  private static let reader = Result {
    let program = try Scratch.path("reader")
    let source = try #require(Bundle.module.resourceURL).appendingPathComponent("Readers")
    _ = try RunningProcess.output(
      of: "cc",
      ["-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-O2", "-o", program]
        + ["-I", root.appendingPathComponent("Sources/CFrameRing/include").path]
        + [source.appendingPathComponent("ring-check.c").path])
    return program
  }

  /// That of Swift, or another one.
  private static let compiler = ["clang++", "c++"].first { name in
    (try? RunningProcess("which", [name]).waitForExit()) == 0
  }

  @Test(
    "the header for programs is C++ too", .enabled(if: compiler != nil, "no compiler of C++"))
  func headerInCPlusPlus() throws {
    let source = try Scratch.path("cpp")
    try "#include \"rtp_recv_ring.h\"\n".write(toFile: source, atomically: true, encoding: .utf8)
    _ = try RunningProcess.output(
      of: try #require(Self.compiler),
      ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only"]
        + [source, "-I", Self.root.appendingPathComponent("Sources/CFrameRing/include").path])
  }

  private static func start(_ mode: String, at path: String) throws -> RunningProcess {
    let reader: RunningProcess
    if mode == "c" {
      reader = try RunningProcess(Self.reader.get(), [path])
    } else {
      let script = try #require(Bundle.module.resourceURL)
        .appendingPathComponent("Readers/ring_check.py").path
      reader = try RunningProcess(
        "/usr/bin/python3", [script, path, mode],
        environment: ["PYTHONPATH": root.appendingPathComponent("python").path])
    }
    _ = try reader.waitForLine(#/open/#)
    return reader
  }

  /// How many frames a reader read and found torn, the last one, and why it ended.
  private static func result(
    of reader: RunningProcess
  ) throws -> (frames: Int, torn: Int, last: UInt64, outcome: String) {
    try reader.waitForExit()
    let line = try reader.waitForLine(
      #/frames (\d+) torn (\d+) last (\d+) outcome (\S+)/#)
    return try (
      #require(Int(line.1)), #require(Int(line.2)), #require(UInt64(line.3)), String(line.4)
    )
  }

  private static func frame() async throws -> RawFrame {
    try #require(await Clip(name: "one", width: 320, height: 240, frames: 1).decodedFrames().first)
  }

  /// A writer whose frames consist of their number.
  private final class NumberWriter {
    let path: String
    let server: RingServer
    private let memory: RingMemory
    private let frame: RawFrame
    private(set) var sequence: UInt64 = 0

    init(
      like frame: RawFrame, at path: String, slotCount: Int = RingLayout.usualSlotCount
    ) throws {
      self.path = path
      self.frame = frame
      server = try RingServer(at: path)
      memory = try RingMemory(
        RingLayout(of: PictureLayout(of: Self.geometry(of: frame)), slotCount: slotCount),
        first: 1, epoch: 1, state: .starting)
      server.serve(memory)
    }

    private static func geometry(of frame: RawFrame) -> RawFrame.Geometry {
      RawFrame.Geometry(width: frame.width, height: frame.height, pixelFormat: .nv12)
    }

    func write() throws {
      sequence += 1
      try memory.write(frame, as: sequence, epoch: 1, isFirstOfConnection: false) {
        start, layout throws(OutputError) in
        let words = unsafe start.bindMemory(to: UInt64.self, capacity: layout.byteCount / 8)
        for index in 0..<layout.byteCount / 8 { unsafe words[index] = sequence }
        return RawFrame.Conversion(to: layout.geometry, frame.colour, .unspecified)
      }
      server.announce(sequence, epoch: 1)
    }

    func figure(_ name: String) -> UInt64? { server.figures.first { $0.name == name }?.value }

    func end() {
      server.end()
      server.close()
    }
  }

  @Test(
    "planes lie inside their slots, and slots beside each other",
    arguments: [(1, 1), (2, 2), (177, 143), (1920, 1080), (8192, 8192)],
    PixelFormat.targets.map(\.value))
  func layout(size: (Int, Int), format: PixelFormat) throws {
    let picture = PictureLayout(
      of: RawFrame.Geometry(width: size.0, height: size.1, pixelFormat: format))
    let layout = RingLayout(of: picture, slotCount: 5)
    #expect(layout.byteCount == 4096 + 5 * layout.slotStride)
    #expect(layout.slotStride.isMultiple(of: 4096))
    var end = RingLayout.samplesOffset
    for plane in picture.planes {
      let start = RingLayout.samplesOffset + plane.offset
      #expect(start >= end)
      #expect(start.isMultiple(of: 64) && plane.rows.stride.isMultiple(of: 64))
      #expect(plane.rows.rowBytes <= plane.rows.stride)
      end = start + plane.rows.stride * plane.rows.rows
    }
    #expect(end <= layout.slotStride)
    #expect(layout.slot(of: 12) == 2)
    #expect(layout.offset(ofSlot: 2) == 4096 + 2 * layout.slotStride)
  }

  /// With one slot, every frame is written over the one that is read.
  @Test(
    "no reader sees a torn frame of a writer at full speed",
    arguments: [1, 2, RingLayout.usualSlotCount])
  func seqlock(slotCount: Int) async throws {
    let writer = try NumberWriter(
      like: await Self.frame(), at: Scratch.path("ring"), slotCount: slotCount)
    let modes = ["c", "c", "latest", "view", "ordered"]
    let readers = try modes.map { try Self.start($0, at: writer.path) }
    try await eventually { writer.figure("readers") == UInt64(modes.count) }
    for _ in 0..<5000 { try writer.write() }
    writer.end()
    for (mode, reader) in zip(modes, readers) {
      let result = try Self.result(of: reader)
      #expect(result.torn == 0, "\(mode)")
      #expect(result.frames > 0, "\(mode)")
      #expect(result.last == 5000, "\(mode)")
      #expect(["-1", "ENDED"].contains(result.outcome), "\(mode): \(result.outcome)")
    }
  }

  @Test("a reader that stops is not waited for, and finds the newest frame when it goes on")
  func stoppedReader() async throws {
    let writer = try NumberWriter(like: await Self.frame(), at: Scratch.path("ring"))
    let reader = try Self.start("c", at: writer.path)
    try await eventually { writer.figure("readers") == 1 }
    reader.send(signal: SIGSTOP)
    for _ in 0..<500 { try writer.write() }
    #expect(writer.figure("behind") ?? 0 > 400)
    reader.send(signal: SIGCONT)
    writer.end()
    let result = try Self.result(of: reader)
    #expect(result.last == 500)
    #expect(result.torn == 0)
  }

  @Test("a reader that is killed is forgotten, and the others go on")
  func killedReader() async throws {
    let writer = try NumberWriter(like: await Self.frame(), at: Scratch.path("ring"))
    let readers = try ["c", "latest"].map { try Self.start($0, at: writer.path) }
    try await eventually { writer.figure("readers") == 2 }
    readers[0].send(signal: SIGKILL)
    try await eventually { writer.figure("readers") == 1 }
    try writer.write()
    writer.end()
    #expect(try Self.result(of: readers[1]).last == 1)
  }

  /// A memory needs one on its way, and another in Python.
  @Test(
    "a reader that has no descriptor left when a memory comes connects again", arguments: [0, 1])
  func noDescriptors(left: Int) async throws {
    let writer = try NumberWriter(like: await Self.frame(), at: Scratch.path("ring"))
    let script = """
      import os, resource, sys, rtp_recv
      ring = rtp_recv.Ring(sys.argv[1], timeout=20, reconnect=True)
      free = os.dup(0)
      os.close(free)
      limits = resource.getrlimit(resource.RLIMIT_NOFILE)
      resource.setrlimit(resource.RLIMIT_NOFILE, (free + \(left), limits[1]))
      print(ring.wait(0.5).name, flush=True)
      resource.setrlimit(resource.RLIMIT_NOFILE, limits)
      while not ring.wait(): pass
      print(ring.latest().sequence, flush=True)
      ring.close()
      print(ring.wait().name, flush=True)
      """
    let reader = try RunningProcess(
      "/usr/bin/python3", ["-c", script, writer.path],
      environment: ["PYTHONPATH": Self.root.appendingPathComponent("python").path])
    _ = try reader.waitForLine(#/TIMEOUT|LOST/#)
    try writer.write()
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    let lines = String(decoding: reader.standardOutput, as: UTF8.self).split(separator: "\n")
    #expect(lines.dropFirst() == ["1", "LOST"], "\(lines)")
  }

  @Test("a stream that stands still is called stalled, until it goes on")
  func stall() async throws {
    let writer = try NumberWriter(like: await Self.frame(), at: Scratch.path("ring"))
    let script = """
      import sys, rtp_recv
      with rtp_recv.Ring(sys.argv[1], timeout=20) as ring:
          print(ring.wait().name, ring.latest().sequence, flush=True)
          while ring.state is not rtp_recv.State.STALLED: ring.wait(0.2)
          print(ring.state.name, flush=True)
          while ring.state is not rtp_recv.State.LIVE: ring.wait(0.2)
          print(ring.state.name, flush=True)
      """
    let reader = try RunningProcess(
      "/usr/bin/python3", ["-c", script, writer.path],
      environment: ["PYTHONPATH": Self.root.appendingPathComponent("python").path])
    try writer.write()
    _ = try reader.waitForLine(#/FRAME 1\nSTALLED/#)
    // One frame more would be enough, unless the reader looks away for longer than a stall takes.
    try await eventually {
      try writer.write()
      return reader.standardOutput.suffix(5).elementsEqual(Data("LIVE\n".utf8))
    }
    writer.end()
    try reader.waitForExit()
  }

  @Test("more readers than are allowed are turned away")
  func manyReaders() async throws {
    let writer = try NumberWriter(like: await Self.frame(), at: Scratch.path("ring"))
    let readers = (0..<RingServer.maximumReaders + 3).map { _ in Connection(to: writer.path) }
    try await eventually { writer.figure("readers_refused") == 3 }
    #expect(writer.figure("readers") == UInt64(RingServer.maximumReaders))
    try writer.write()
    withExtendedLifetime(readers) {}
    writer.end()
  }

  /// Masks of shells, of the service, and of whoever keeps all for himself.
  @Test(
    "whoever may read a ring by the umask may connect to it",
    arguments: [(0o022, 0o660), (0o027, 0o660), (0o002, 0o660), (0o077, 0o600)])
  func mode(mask: mode_t, expected: Int) throws {
    let path = try Scratch.path("ring")
    let former = umask(mask)
    defer { umask(former) }
    let server = try RingServer(at: path)
    defer { server.close() }
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == expected)
  }

  @Test("a socket that a killed writer left is replaced; anything else is not")
  func leftSocket() throws {
    let path = try Scratch.path("ring")
    do {
      let left = try RingServer(at: path)
      #expect(throws: RingError.inUse(path: path)) { try RingServer(at: path) }
      left.end()
      left.close()
    }
    #expect(!FileManager.default.fileExists(atPath: path))
    let listener = Connection(listeningAt: path)
    listener.close()
    #expect(FileManager.default.fileExists(atPath: path))
    let next = try RingServer(at: path)
    next.close()
    #expect(!FileManager.default.fileExists(atPath: path))
    try Data([1]).write(to: URL(fileURLWithPath: path))
    #expect(throws: RingError.noSocket(path: path)) { try RingServer(at: path) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([1]))
    let folder = "/nonexistent/ring"
    #expect(throws: RingError.cannotListen(path: folder, errno: ENOENT)) {
      try RingServer(at: folder)
    }
    let long = "/tmp/" + String(repeating: "x", count: 200)
    #expect(throws: RingError.cannotListen(path: long, errno: ENAMETOOLONG)) {
      try RingServer(at: long)
    }
  }

  @Test("of writers that start together, one serves the path", arguments: [false, true])
  func startTogether(afterKilledWriter: Bool) throws {
    let path = try Scratch.path("ring")
    for round in 0..<2000 {
      if afterKilledWriter { Connection(listeningAt: path).close() }
      let servers = Mutex<[RingServer]>([])
      let refusals = Mutex<[RingError?]>([])
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        do {
          let server = try RingServer(at: path)
          servers.withLock { $0.append(server) }
        } catch {
          refusals.withLock { $0.append(error as? RingError) }
        }
      }
      let (count, refused) = (servers.withLock(\.count), refusals.withLock { $0 })
      try #require(count == 1, "round \(round): \(refused)")
      try #require(refused == Array(repeating: .inUse(path: path), count: 3))
      servers.withLock { $0.forEach { $0.close() } }
    }
  }

  @Test("more memory than there is, is refused")
  func noMemory() throws {
    let picture = PictureLayout(
      of: RawFrame.Geometry(width: 8192, height: 8192, pixelFormat: .yuv420p10))
    let layout = RingLayout(of: picture, slotCount: 1 << 20)
    #expect(throws: RingError.noMemory(bytes: layout.byteCount, errno: ENOMEM)) {
      try RingMemory(layout, first: 1, epoch: 1, state: .starting)
    }
  }

  @Test("a memory that the server gives up is free before there is another")
  func withdrawal() async throws {
    let frame = try await Self.frame()
    let server = try RingServer(at: Scratch.path("ring"))
    weak var former: RingMemory?
    do {
      let memory = try RingMemory(
        RingLayout(of: PictureLayout(of: frame.geometry)), first: 1, epoch: 1, state: .starting)
      server.serve(memory)
      former = memory
    }
    #expect(former != nil)
    try server.withdrawMemory()
    #expect(former == nil)
    server.close()
  }

  @Test("a reader that does not read keeps no more than three memories from being freed")
  func unreadMemories() async throws {
    let frame = try await Self.frame()
    let path = try Scratch.path("ring")
    let server = try RingServer(at: path)
    defer { server.close() }
    let script = """
      import signal, socket, struct, sys
      signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
      ring = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
      ring.connect(sys.argv[1])
      print("open", flush=True)
      signal.sigwait([signal.SIGUSR1])
      def take():
          data, parts, _, _ = ring.recvmsg(64, socket.CMSG_SPACE(4))
          return struct.unpack("<IIQQQ", data)[3] if parts else 0
      memories = []
      ring.setblocking(False)
      try:
          while True: memories.append(take())
      except BlockingIOError:
          print("waiting", sum(first > 0 for first in memories), flush=True)
      ring.settimeout(20)
      while max(memories) < 20: memories.append(take())
      print("newest", max(memories), flush=True)
      """
    let reader = try RunningProcess("/usr/bin/python3", ["-c", script, path])
    _ = try reader.waitForLine(#/open/#)
    try await eventually { server.figures.first { $0.name == "readers" }?.value == 1 }
    for number in 1...20 as ClosedRange<UInt64> {
      server.serve(
        try RingMemory(
          RingLayout(of: PictureLayout(of: frame.geometry)), first: number, epoch: number,
          state: .starting))
      server.announce(number, epoch: number)
    }
    reader.send(signal: SIGUSR1)
    let waiting = try reader.waitForLine(#/waiting (\d+)/#)
    #expect(try #require(Int(waiting.1)) <= 3)
    _ = try reader.waitForLine(#/newest 20/#)
  }

  @Test("what has another size follows in another memory, and nothing is missed")
  func formatChange() async throws {
    let first = try await Clip(name: "small", width: 64, height: 48, frames: 4).decodedFrames()
    let second = try await Clip(name: "larger", width: 96, height: 64, frames: 4).decodedFrames()
    let path = try Scratch.path("ring")
    let (format, rest) = try #require(catalogue.format(forScheme: "shm:\(path)"))
    #expect(rest == path)
    let lane = try OutputLane(OutputLane.Configuration(target: .path(path), format: format))
    let script = """
      import sys, rtp_recv
      with rtp_recv.Ring(sys.argv[1], timeout=20) as ring:
          for frame in ring:
              print(frame.sequence, frame.epoch, frame.array.shape, frame.missed, flush=True)
          print(ring.reason.name, flush=True)
      """
    try await eventually { FileManager.default.fileExists(atPath: path) }
    let reader = try RunningProcess(
      "/usr/bin/python3", ["-c", script, path],
      environment: ["PYTHONPATH": Self.root.appendingPathComponent("python").path])
    lane.write(first[0])
    // A reader whose memory has another format already begins there.
    _ = try reader.waitForLine(#/^1 1 /#)
    for frame in first.dropFirst() + second { lane.write(frame) }
    let summary = await lane.finish()
    try reader.waitForExit()
    let output = String(decoding: reader.standardOutput, as: UTF8.self)
    let lines: [String] = output.split(separator: "\n").map(String.init)
    let small = (1...4).map { "\($0) 1 (72, 64) 0" }
    let large = (5...8).map { "\($0) 2 (96, 96) 0" }
    let expected: [String] = small + large + ["ENDED"]
    #expect(lines == expected, "\(reader.standardError)")
    #expect(summary.error == nil)
    #expect(summary.counters.written == 8)
    let bytes: UInt64 = 4 * 72 * 64 + 4 * 96 * 96
    #expect(summary.counters.bytes == bytes)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("the Python module's own tests, against a writer that may send anything")
  func pythonModule() throws {
    let python = Self.root.appendingPathComponent("python").path
    let tests = try RunningProcess(
      "/usr/bin/python3", ["-m", "unittest", "discover", "-s", "\(python)/tests"],
      environment: [
        "PYTHONPATH": python, "RING_CHECK": try Self.reader.get(), "PYTHONDONTWRITEBYTECODE": "1",
      ])
    #expect(try tests.waitForExit(within: 120) == 0, "\(tests.standardError)")
  }
}

/// A unix socket that is nothing but connected, or listening.
private final class Connection {
  private var number: Int32

  init(to path: String) {
    number = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | O_CLOEXEC, 0)
    _ = Self.withAddress(of: path) { unsafe connect(number, $0, $1) }
  }

  init(listeningAt path: String) {
    number = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | O_CLOEXEC, 0)
    _ = Self.withAddress(of: path) { unsafe bind(number, $0, $1) }
    _ = listen(number, 1)
  }

  func close() {
    if number >= 0 { Glibc.close(number) }
    number = -1
  }

  deinit { close() }

  private static func withAddress(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, size) }
    }
  }
}

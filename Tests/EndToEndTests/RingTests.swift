import Foundation
import TestSupport
import Testing

/// `-o shm:PATH` and the Python module, with Debian's Python and `rtp-send` at the far end.
@Suite(.serialized)
struct RingTests {
  private static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Starts a Python program that has the module.
  private static func python(
    _ script: String, _ arguments: [String], by interpreter: String = "/usr/bin/python3"
  ) throws -> RunningProcess {
    let programs = URL(fileURLWithPath: Product.rtpRecv).deletingLastPathComponent().path
    return try RunningProcess(
      interpreter, ["-u", "-c", "import sys, rtp_recv\n" + script] + arguments,
      environment: [
        "PYTHONPATH": package.appendingPathComponent("python").path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": "\(programs):\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
      ])
  }

  /// A receiver that serves a ring at `path`, once it does.
  private static func receiver(
    _ source: String, _ path: String, _ options: [String] = []
  ) throws -> RunningProcess {
    let receiver = try RunningProcess(
      Product.rtpRecv, [source, "-o", "shm:\(path)"] + options)
    try waitUntil("the socket \(path)") { FileManager.default.fileExists(atPath: path) }
    return receiver
  }

  /// A camera that serves clients by HTTP on `port`.
  private static func camera(on port: UInt16) throws -> RunningProcess {
    let sender = try RunningProcess(
      Product.rtpSend, CommandTests.pattern + ["http://127.0.0.1:\(port)"])
    _ = try sender.waitForLine(#/127\.0\.0\.1:\d+/#)
    return sender
  }

  @Test(
    "frames in the ring are those of a file, to the last byte",
    arguments: ["bgr24", "rgb24", "gray8", "nv12", "yuv420p", "p010le", "yuv420p10le"])
  func bytes(format: String) throws {
    let (sender, address) = try CommandTests.server(["--frames", "40"])
    let (file, copy) = try (Scratch.path("yuv"), Scratch.path("read"))
    let script = """
      address, file, copy, form = sys.argv[1:]
      with rtp_recv.open("udp://" + address, pixel_format=form, reconnect=False,
                         options=["-o", file]) as camera:
          first, missed = 0, 0
          with open(copy, "wb") as out:
              for frame in camera:
                  first = first or frame.sequence
                  missed += frame.missed
                  assert frame.is_intact and frame.valid and 0 <= frame.age < 10, frame
                  out.seek((frame.sequence - 1) * frame.array.nbytes)
                  out.write(frame.array.tobytes())
          print("read", frame.sequence, first - 1 + missed, frame.array.nbytes)
      """
    let reader = try Self.python(script, [address, file, copy, format])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    try sender.waitForExit()
    let line = try reader.waitForLine(#/read (\d+) (\d+) (\d+)/#)
    #expect(line.1 == "40")
    let size = try #require(Int(line.3))
    let (expected, found) = try (
      Data(contentsOf: URL(fileURLWithPath: file)), Data(contentsOf: URL(fileURLWithPath: copy))
    )
    #expect(expected.count == 40 * size)
    // A reader on a busy machine may miss some, but never the last one; it knows how many.
    var missing = 0
    for start in stride(from: 0, to: expected.count, by: size) {
      let frame = found[start..<min(start + size, found.count)]
      if frame.allSatisfy({ $0 == 0 }) {
        missing += 1
      } else {
        #expect(frame == expected[start..<start + size], "frame \(start / size + 1)")
      }
    }
    #expect(missing == Int(line.2))
    #expect(found.suffix(size) == expected.suffix(size))
  }

  @Test("BGR frames of a camera in five lines")
  func fiveLines() throws {
    let (sender, address) = try CommandTests.server([])
    let script = """
      with rtp_recv.open("udp://" + sys.argv[1]) as camera:
          for frame in camera:
              print("frame", frame.array.shape, frame.array.dtype, frame.pixel_format)
              if frame.sequence > 20: break
      """
    let reader = try Self.python(script, [address])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    _ = try reader.waitForLine(#/frame \(144, 256, 3\) uint8 bgr24/#)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test("the same five lines go on when the camera comes back")
  func fiveLinesThroughAnOutage() throws {
    let port = try FreePort.tcp()
    let script = """
      seen = 0
      with rtp_recv.open(sys.argv[1]) as camera:
          for frame in camera:
              if frame.epoch != seen: print("frame of epoch", frame.epoch, frame.array.shape)
              seen = frame.epoch
              if seen == 2: break
      """
    let first = try Self.camera(on: port)
    let reader = try Self.python(script, ["http://127.0.0.1:\(port)/live"])
    _ = try reader.waitForLine(#/frame of epoch 1 \(144, 256, 3\)/#)
    first.send(signal: SIGKILL)
    try first.waitForExit()
    let second = try Self.camera(on: port)
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    _ = try reader.waitForLine(#/frame of epoch 2 \(144, 256, 3\)/#)
    second.send(signal: SIGTERM)
    try second.waitForExit()
  }

  @Test("BGR frames are those that OpenCV decodes of the same stream")
  func openCV() throws {
    let interpreter = Self.package.appendingPathComponent(".build/python/bin/python").path
    guard FileManager.default.isExecutableFile(atPath: interpreter) else {
      Issue.record("there is no OpenCV in .build/python; `tools/setup test` installs it from PyPI")
      return
    }
    let clip = try Clip.of(.h264)
    let server = try GStreamerServer(clip)
    // OpenCV rounds the products of its formula down. It reads the stream without the container,
    // of which it leaves out the first frames. What a busy machine leaves out has no number.
    let script = """
      import cv2, itertools
      url, file = sys.argv[1:]
      theirs = cv2.VideoCapture(file, cv2.CAP_FFMPEG)
      options = ["--rtsp-transport", "tcp"]
      with rtp_recv.open(url, pixel_format="bgr24", reconnect=False, options=options) as camera:
          seen, place = 0, 0
          for frame in itertools.islice(camera, 100):
              assert frame.is_intact, frame
              while True:
                  is_there, picture = theirs.read()
                  assert is_there, ("in none of those that follow", frame)
                  difference = cv2.absdiff(frame.array, picture)
                  if difference.max() <= 4: break
              assert difference.mean() < 2, (frame, difference.mean())
              seen += 1
      print("compared", seen)
      """
    let reader = try Self.python(script, [server.url(), clip.path], by: interpreter)
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    // A reader on a busy machine may miss some, but never all: the newest one stays.
    let seen = try reader.waitForLine(#/compared (\d+)/#).1
    #expect(try #require(Int(seen)) > 0)
  }

  @Test("a source that cannot be received is an error with rtp-recv's words")
  func noSource() throws {
    let script = """
      try:
          with rtp_recv.open(sys.argv[1], reconnect=False) as camera:
              next(iter(camera))
      except rtp_recv.CameraError as error:
          print("status", error.status, error)
      """
    let port = try FreePort.closed.get()
    let reader = try Self.python(script, ["rtsp://127.0.0.1:\(port)/x"])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    #expect(
      String(decoding: reader.standardOutput, as: UTF8.self).contains("refuses the connection"))
  }

  @Test("while a camera cannot be reached, Python is told why, and waits for it")
  func lostSource() throws {
    let script = """
      with rtp_recv.open(sys.argv[1]) as camera:
          while "refuses the connection" not in camera.message:
              print(camera.wait(0.2).name, camera.message)
          print("waits", camera.wait(0.2).name, camera.message)
      """
    let port = try FreePort.closed.get()
    let reader = try Self.python(script, ["rtsp://127.0.0.1:\(port)/x"])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    _ = try reader.waitForLine(#/waits LOST .*refuses the connection.*; connecting again/#)
  }

  @Test("rtp-recv ends with the Python program that started it, even if that is killed")
  func killedProgram() throws {
    let (sender, address) = try CommandTests.server([])
    let script = """
      with rtp_recv.open("udp://" + sys.argv[1]) as camera:
          camera.wait()
          print("pid", camera._process.pid, camera.path)
          camera.wait(60)
          for frame in camera: pass
      """
    let reader = try Self.python(script, [address])
    let line = try reader.waitForLine(#/pid (\d+) (\S+)\/frames/#)
    let (pid, folder) = (try #require(Int32(line.1)), String(line.2))
    #expect(FileManager.default.fileExists(atPath: folder))
    #expect(kill(pid, 0) == 0)
    reader.send(signal: SIGKILL)
    try reader.waitForExit()
    try waitUntil("the end of \(pid)") { kill(pid, 0) != 0 || Self.isZombie(pid) }
    try waitUntil("the end of \(folder)") { !FileManager.default.fileExists(atPath: folder) }
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  private static func isZombie(_ pid: Int32) -> Bool {
    let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    return status?.contains(") Z") ?? true
  }

  @Test("a writer that is killed is lost; the next one takes its place, and readers find it")
  func killedWriter() throws {
    let path = try Scratch.path("ring")
    let (first, address) = try CommandTests.server([])
    let writer = try Self.receiver("udp://\(address)", path)
    let script = """
      with rtp_recv.Ring(sys.argv[1]) as ring, rtp_recv.Ring(sys.argv[1], reconnect=True) as other:
          assert ring.wait() and other.wait()
          print("first", ring.latest().sequence > 0, other.latest().sequence > 0)
          try:
              for frame in ring: pass
          except rtp_recv.RingLost: print("lost")
          while other.wait(0): other.latest()
          print("other", other.wait(0.2).name, other.state.name)
          while other.reconnections == 0: other.wait(30)
          print("again", other.next(30).array.shape, other.reconnections)
      """
    let reader = try Self.python(script, [path])
    _ = try reader.waitForLine(#/first True True/#)
    writer.send(signal: SIGKILL)
    try writer.waitForExit()
    #expect(FileManager.default.fileExists(atPath: path))
    _ = try reader.waitForLine(#/lost/#)
    _ = try reader.waitForLine(#/other LOST LOST/#)
    let (second, next) = try CommandTests.server([])
    let successor = try RunningProcess(
      Product.rtpRecv, ["udp://\(next)", "-o", "shm:\(path)", "--pixel-format", "gray8"])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    _ = try reader.waitForLine(#/again \(144, 256\) 1/#)
    successor.send(signal: SIGINT)
    try successor.waitForExit()
    #expect(!FileManager.default.fileExists(atPath: path))
    for sender in [first, second] { sender.send(signal: SIGTERM) }
  }

  @Test("while the camera is away the ring says so, and goes on in another epoch")
  func outage() throws {
    let path = try Scratch.path("ring")
    let port = try FreePort.tcp()
    let first = try Self.camera(on: port)
    let writer = try Self.receiver(
      "http://127.0.0.1:\(port)/live", path, ["--reconnect"])
    let script = """
      with rtp_recv.Ring(sys.argv[1], timeout=30) as ring:
          assert ring.wait()
          frame = ring.latest()
          print("first", frame.epoch, frame.is_discontinuity)
          while ring.state is not rtp_recv.State.LOST:
              ring.next(0.1)
          while ring.wait(0.1) is not rtp_recv.Reason.LOST: ring.latest()
          print("lost", ring.reason.name)
          epoch = ring.next(30)
          while epoch.epoch == frame.epoch: epoch = ring.next(30)
          print("again", epoch.epoch, epoch.is_discontinuity, ring.state.name)
      """
    let reader = try Self.python(script, [path])
    _ = try reader.waitForLine(#/first 1 False/#)
    first.send(signal: SIGKILL)
    try first.waitForExit()
    _ = try reader.waitForLine(#/lost LOST/#)
    let second = try Self.camera(on: port)
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    _ = try reader.waitForLine(#/again 2 True LIVE/#)
    writer.send(signal: SIGINT)
    #expect(try writer.waitForExit() == 0, "\(writer.standardError)")
    second.send(signal: SIGTERM)
  }

  @Test("a writer that is stopped shows no more signs of life")
  func stoppedWriter() throws {
    let path = try Scratch.path("ring")
    let (sender, address) = try CommandTests.server([])
    let writer = try Self.receiver("udp://\(address)", path)
    let script = """
      with rtp_recv.Ring(sys.argv[1]) as ring:
          print(ring.wait().name, ring.latest() is not None, ring.state.name)
          while ring.state is rtp_recv.State.LIVE: ring.wait(0.2), ring.latest()
          print(ring.state.name, ring.wait(0).name)
      """
    let reader = try Self.python(script, [path])
    _ = try reader.waitForLine(#/FRAME True LIVE/#)
    writer.send(signal: SIGSTOP)
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    _ = try reader.waitForLine(#/STALLED TIMEOUT/#)
    writer.send(signal: SIGKILL)
    sender.send(signal: SIGTERM)
  }

  @Test("two rings at one path, and one without memory, are errors in one sentence")
  func refusals() throws {
    let path = try Scratch.path("ring")
    let (sender, address) = try CommandTests.server([])
    let writer = try Self.receiver("udp://\(address)", path)
    // Each server ends with its client.
    let (other, second) = try CommandTests.server([])
    let rival = try RunningProcess(Product.rtpRecv, ["udp://\(second)", "-o", "shm:\(path)"])
    #expect(try rival.waitForExit() != 0)
    #expect(rival.standardError.contains("another program serves frames at"))
    let (another, third) = try CommandTests.server([])
    let poor = try RunningProcess(
      "bash",
      [
        "-c", "ulimit -f 100; exec \"$0\" \"$@\"", Product.rtpRecv, "udp://\(third)", "-o",
        "shm:\(path).2",
      ])
    #expect(try poor.waitForExit() != 0)
    #expect(poor.standardError.contains("there is no memory for a ring of"))
    writer.send(signal: SIGINT)
    #expect(try writer.waitForExit() == 0)
    for sender in [sender, other, another] { sender.send(signal: SIGTERM) }
  }
}

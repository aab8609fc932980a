import Foundation

/// Sends a stream over loopback to FFmpeg and GStreamer at once, several times in parallel with
/// different losses.
struct LiveBroadcast {
  typealias Pictures = (ffmpeg: DisplayedPictures, gstreamer: DisplayedPictures)

  private let scene: Scene
  private let batch: [[Bool]]
  private let folder: String

  /// `batch` says for each run which packets survive.
  init(of scene: Scene, to batch: [[Bool]], in folder: String) {
    self.scene = scene
    self.batch = batch
    self.folder = folder
  }

  /// Sends all runs in real time; returns the pictures of each peer.
  func run() throws -> [Pictures] {
    let ffmpeg = try batch.map { _ in try FFmpegReceiver(of: scene, in: folder) }
    let gstreamer = try batch.map { _ in try GStreamerReceiver(of: scene) }
    let ports = zip(ffmpeg, gstreamer).map { [$0.port, $1.port] }
    guard ports.joined().allSatisfy(waitUntilBound) else {
      throw BenchError(description: "a peer does not listen")
    }
    // FFmpeg and GStreamer bind their ports shortly before they are ready.
    usleep(500_000)
    let socket = try UDPSocket()
    let start = Latency.now()
    for (index, packet) in scene.stream.packets.enumerated() {
      let wait = start + scene.dueTimes[index] - Latency.now()
      if wait > 0 { usleep(UInt32(wait * 1e6)) }
      for (survivors, ports) in zip(batch, ports) where survivors[index] {
        for port in ports { socket.send(packet, to: port) }
      }
    }
    // Longer than either peer waits for missing packets.
    usleep(1_500_000)
    let lost = ports.joined().reduce(0) { $0 + lostInKernel($1) }
    guard lost == 0 else {
      throw BenchError(description: "\(lost) packets found no room in the peers' sockets")
    }
    return try zip(ffmpeg, gstreamer).map { try ($0.finish(), $1.finish()) }
  }
}

/// FFmpeg with its defaults, except for a socket buffer large enough for a key picture.
private struct FFmpegReceiver {
  let port: UInt16
  private let log: String
  private let program: Running
  private let reader: PictureReader

  init(of scene: Scene, in folder: String) throws {
    port = try UDPSocket.freePort()
    log = "\(folder)/ffmpeg.\(port).log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    guard let diagnostics = FileHandle(forWritingAtPath: log) else {
      throw BenchError(description: "\(log) cannot be written")
    }
    program = try Running(
      [
        "ffmpeg", "-nostats", "-protocol_whitelist", "file,udp,rtp", "-buffer_size", "4194304",
        "-i", try scene.stream.describe(port: port), "-copyts", "-vf",
        "extractplanes=y,showinfo=checksum=0", "-fps_mode", "passthrough", "-f", "rawvideo", "-",
      ], diagnostics: diagnostics)
    reader = PictureReader(program, head: 0, tail: 0, name: "ffmpeg")
  }

  func finish() throws -> DisplayedPictures {
    program.stop()
    let pictures = reader.waitForAll().map(\.luma)
    let text = try String(decoding: Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)
    let times = text.matches(of: #/ n: *\d+ pts: *(-?\d+) /#).map { match in
      Int(((Double(match.1) ?? 0) * Double(Scene.rate) / 90_000).rounded())
    }
    guard times.count >= pictures.count else {
      throw BenchError(description: "ffmpeg wrote \(pictures.count) frames, says \(times.count)")
    }
    return DisplayedPictures(frames: zip(times, pictures).map { (time: $0, luma: $1) })
  }
}

/// GStreamer with default settings: its jitter buffer and the elements that `decodebin` would use.
private struct GStreamerReceiver {
  let port: UInt16
  private let scene: Scene
  private let program: Running
  private let reader: PictureReader

  init(of scene: Scene) throws {
    port = try UDPSocket.freePort()
    self.scene = scene
    program = try Running([
      "/usr/bin/python3", "gstreamer-frames.py", "\(port)", "\(scene.codec)",
      "\(Scene.width)x\(Scene.height)",
    ])
    reader = PictureReader(program, head: 4, tail: 0, name: "gstreamer")
  }

  func finish() -> DisplayedPictures {
    program.stop()
    let frames = reader.waitForAll().map { head, luma in
      (time: scene.time(of: head.reduce(0) { $0 << 8 | UInt32($1) }), luma: luma)
    }
    return DisplayedPictures(frames: frames)
  }
}

/// How many packets the kernel has dropped because the socket on `port` was full.
private func lostInKernel(_ port: UInt16) -> Int {
  let wanted = ":" + String(format: "%04X", port)
  let table = (try? String(contentsOfFile: "/proc/net/udp", encoding: .utf8)) ?? ""
  return table.split(separator: "\n").reduce(0) { sum, line in
    let fields = line.split(separator: " ")
    guard fields.count > 12, fields[1].hasSuffix(wanted) else { return sum }
    return sum + (Int(fields[12]) ?? 0)
  }
}

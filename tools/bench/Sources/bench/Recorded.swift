import Foundation

/// The packets of a stream that survive a loss, as recordings that receivers play as fast as they
/// can: the same pictures as from a live stream, in a tenth of the time.
struct Recorded {
  let scene: Scene
  /// An rtpdump file, each packet with the time at which it is due.
  let dump: String
  /// The packets, each behind its length in 4 bytes.
  let packets: String

  init(_ scene: Scene, _ survivors: [Bool], in folder: String) throws {
    self.scene = scene
    (dump, packets) = ("\(folder)/quality.rtpdump", "\(folder)/quality.rtp4")
    var data = Data("#!rtpplay1.0 127.0.0.1/5004\n".utf8)
    var plain = Data()
    func append(_ value: some FixedWidthInteger) {
      withUnsafeBytes(of: value.bigEndian) { data.append(contentsOf: $0) }
    }
    // The time and the source of the recording, which do not matter here.
    for _ in 0..<4 { append(UInt32(0)) }
    for (index, packet) in scene.stream.packets.enumerated() where survivors[index] {
      append(UInt16(packet.count + 8))
      append(UInt16(packet.count))
      append(UInt32(scene.dueTimes[index] * 1000))
      data.append(contentsOf: packet)
      withUnsafeBytes(of: UInt32(packet.count).bigEndian) { plain.append(contentsOf: $0) }
      plain.append(contentsOf: packet)
    }
    try data.write(to: URL(fileURLWithPath: dump))
    try plain.write(to: URL(fileURLWithPath: packets))
  }
}

/// A receiver that plays a recording; the pictures are complete when it has ended.
protocol Player: SendableMetatype {
  init(_ recorded: Recorded, in folder: String) throws
  func finish() throws -> DisplayedPictures
}

/// Our receiver as a user starts it: default settings, the codec recognized from the packets.
struct OurPlayer: Player {
  private let scene: Scene
  private let program: Running
  private let reader: PictureReader
  private let lines: String

  init(_ recorded: Recorded, in folder: String) throws {
    scene = recorded.scene
    lines = recorded.dump + ".jsonl"
    program = try Running([
      Peer.rtpRecv, recorded.dump, "-o", "-", "--format", "yuv", "-o", lines, "--quiet",
    ])
    reader = PictureReader(
      program, head: 0, luma: scene.lumaSize, tail: scene.lumaSize / 2, name: "rtp-recv")
  }

  func finish() throws -> DisplayedPictures {
    let pictures = reader.waitForAll().map(\.luma)
    _ = program.waitUntilExit()
    var times: [Int] = []
    for line in try String(contentsOfFile: lines, encoding: .utf8).split(separator: "\n") {
      let frame = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      guard frame?["number"] is NSNumber, let ticks = frame?["rtp_timestamp"] as? NSNumber else {
        continue
      }
      times.append(scene.time(of: UInt32(truncatingIfNeeded: ticks.int64Value)))
    }
    guard times.count == pictures.count else {
      throw BenchError(
        description: "rtp-recv wrote \(pictures.count) frames and reports \(times.count)")
    }
    return DisplayedPictures(frames: zip(times, pictures).map { (time: $0, luma: $1) })
  }
}

/// FFmpeg with its defaults, by RTSP in TCP: there it does not wait for what is missing.
struct FFmpegPlayer: Player {
  private let log: String
  private let server: Running
  private let program: Running
  private let reader: PictureReader

  init(_ recorded: Recorded, in folder: String) throws {
    log = "\(folder)/ffmpeg.log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    guard let diagnostics = FileHandle(forWritingAtPath: log) else {
      throw BenchError(description: "\(log) cannot be written")
    }
    let description = try recorded.scene.stream.describe(port: 0)
    server = try Running([".build/release/connection-server", recorded.packets, description])
    let port = server.readLine()
    program = try Running(
      [
        "ffmpeg", "-nostats", "-rtsp_transport", "tcp", "-i", "rtsp://127.0.0.1:\(port)/",
        "-copyts", "-vf", "extractplanes=y,showinfo=checksum=0", "-fps_mode", "passthrough", "-f",
        "rawvideo", "-",
      ], diagnostics: diagnostics)
    reader = PictureReader(
      program, head: 0, luma: recorded.scene.lumaSize, tail: 0, name: "ffmpeg")
  }

  func finish() throws -> DisplayedPictures {
    let pictures = reader.waitForAll().map(\.luma)
    _ = program.waitUntilExit()
    server.kill()
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

/// GStreamer with the elements that `decodebin` would use.
struct GStreamerPlayer: Player {
  private let scene: Scene
  private let program: Running
  private let reader: PictureReader

  init(_ recorded: Recorded, in folder: String) throws {
    scene = recorded.scene
    program = try Running([
      "/usr/bin/python3", "gstreamer-frames.py", recorded.packets, "\(scene.codec)",
      "\(scene.content.size.width)x\(scene.content.size.height)",
    ])
    reader = PictureReader(program, head: 4, luma: scene.lumaSize, tail: 0, name: "gstreamer")
  }

  func finish() -> DisplayedPictures {
    let frames = reader.waitForAll().map { head, luma in
      (time: scene.time(of: head.reduce(0) { $0 << 8 | UInt32($1) }), luma: luma)
    }
    _ = program.waitUntilExit()
    return DisplayedPictures(frames: frames)
  }
}

import Foundation

/// The packets of a stream that survive a loss, as a recording that rtp-recv plays.
struct Recorded {
  private let scene: Scene
  private let path: String

  /// Writes the surviving packets to an rtpdump file, each with the time at which it is due.
  init(_ scene: Scene, _ survivors: [Bool], in folder: String) throws {
    self.scene = scene
    path = "\(folder)/quality.rtpdump"
    var data = Data("#!rtpplay1.0 127.0.0.1/5004\n".utf8)
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
    }
    try data.write(to: URL(fileURLWithPath: path))
  }

  /// Plays the recording as a user would: default settings, the codec recognized from the packets.
  func play() throws -> DisplayedPictures {
    let lines = path + ".jsonl"
    let receiver = try Running([
      Peer.rtpRecv, path, "-o", "-", "--format", "yuv", "--quiet",
    ])
    let reader = PictureReader(receiver, head: 0, tail: Scene.lumaSize / 2, name: "rtp-recv")
    let pictures = reader.waitForAll().map(\.luma)
    _ = receiver.waitUntilExit()
    // The same recording gives the same frames.
    _ = try Running([Peer.rtpRecv, path, "-o", lines, "--quiet"]).waitUntilExit()
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

/// Collects the frames that a program writes to its standard output.
final class PictureReader: @unchecked Sendable {
  private let descriptor: Int32
  private let head: Int
  private let tail: Int
  private let hasEnded = DispatchSemaphore(value: 0)
  /// Only the reading thread writes this, until it has ended.
  private var pictures: [(head: Data, luma: Data)] = []

  /// Reads from `program` until it closes its output: repeatedly `head` bytes, a frame's luma and
  /// `tail` bytes to discard.
  init(_ program: Running, head: Int, tail: Int, name: String) {
    descriptor = program.output.fileHandleForReading.fileDescriptor
    self.head = head
    self.tail = tail
    _ = fcntl(descriptor, 1031 /* F_SETPIPE_SZ */, 1 << 20)
    let thread = Thread { [self] in
      while let head = read(head), let luma = read(Scene.lumaSize), read(tail) != nil {
        pictures.append((head, luma))
      }
      hasEnded.signal()
    }
    thread.name = name
    thread.start()
  }

  func waitForAll() -> [(head: Data, luma: Data)] {
    hasEnded.wait()
    return pictures
  }

  /// Reads `count` bytes; `nil` at the end.
  private func read(_ count: Int) -> Data? {
    var data = Data(count: count)
    var filled = 0
    while filled < count {
      let added = data.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress?.advanced(by: filled), count - filled)
      }
      guard added > 0 else { return nil }
      filled += added
    }
    return data
  }
}

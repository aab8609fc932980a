import Foundation

/// A clip for measuring picture quality: its content, its coding and its undamaged pictures.
struct Scene {
  /// Further frames, which always arrive whole: FFmpeg never outputs its last frames.
  private static let furtherFrames = 5
  static let rate = 30

  let content: SceneContent
  let codec: Stream.Codec
  let coding: SceneCoding
  /// The frames that are compared.
  let frames: Int
  let stream: Stream
  /// The RTP timestamp of the first frame.
  let origin: UInt32
  /// The frame that each packet belongs to.
  let times: [Int]
  /// When each packet is sent, in seconds: spread evenly over its frame's time, as cameras do.
  let dueTimes: [Double]
  /// The luma of every frame as FFmpeg decodes the whole clip, one after the other.
  let clean: Data
  /// The clip's actual rate, in Mbit/s.
  let megabits: Double

  var lumaSize: Int { content.size.width * content.size.height }

  init(
    _ content: SceneContent, _ codec: Stream.Codec, _ coding: SceneCoding, in folder: String
  ) throws {
    (self.content, self.codec, self.coding) = (content, codec, coding)
    frames = content.frames - Self.furtherFrames
    let name = "\(content.name)-\(codec)-\(coding)"
    let clip = "\(folder)/\(name).\(coding.ending(for: codec))"
    let rates = (content.megabits * 1000, content.megabits * 500)
    let luma = "\(folder)/\(name).luma"
    if let kept = Stream(kept: clip, named: name, in: folder) {
      stream = kept
    } else {
      try run(
        ["ffmpeg", "-v", "error", "-y"] + content.arguments + coding.arguments(for: codec)
          + ["-b:v", "\(rates.0)k", "-maxrate", "\(rates.0)k", "-bufsize", "\(rates.1)k", clip])
      try run([
        "ffmpeg", "-v", "error", "-y", "-i", clip, "-vf", "extractplanes=y", "-fps_mode",
        "passthrough", "-frames:v", "\(frames)", "-f", "rawvideo", luma,
      ])
      stream = try Stream(of: clip, named: name, rate: Self.rate, in: folder)
      try stream.keep(in: folder, as: name)
    }
    let stamps = stream.packets.map { $0[4..<8].reduce(0) { $0 << 8 | UInt32($1) } }
    guard let origin = stamps.first else { throw BenchError(description: "\(name) has no packets") }
    self.origin = origin
    times = stamps.map { Self.time(of: $0, since: origin) }
    dueTimes = Self.dueTimes(of: times)
    let bytes = stream.packets.reduce(0) { $0 + $1.count }
    megabits = Double(bytes * 8 * Self.rate / content.frames) / 1e6
    guard megabits < 1.25 * content.megabits else {
      throw BenchError(description: "\(name) has \(number(megabits)) Mbit/s")
    }
    clean = try Data(contentsOf: URL(fileURLWithPath: luma), options: .alwaysMapped)
    guard clean.count == frames * content.size.width * content.size.height,
      times.max() == content.frames - 1
    else { throw BenchError(description: "\(name) does not have \(content.frames) frames") }
  }

  /// The frame with this RTP timestamp.
  func time(of stamp: UInt32) -> Int { Self.time(of: stamp, since: origin) }

  private static func time(of stamp: UInt32, since origin: UInt32) -> Int {
    let ticks = Int(Int32(bitPattern: stamp &- origin))
    return Int((Double(ticks * rate) / 90_000).rounded())
  }

  /// When packets of pictures with these times are sent, in decoding order.
  private static func dueTimes(of times: [Int]) -> [Double] {
    let counts = Dictionary(times.map { ($0, 1) }, uniquingKeysWith: +)
    var (picture, place) = (-1, 0)
    var last: Int?
    return times.map { time in
      if time != last { (picture, place, last) = (picture + 1, 0, time) }
      defer { place += 1 }
      let part = Double(place) / Double(counts[time, default: 1])
      return (Double(picture) + 0.8 * part) / Double(rate)
    }
  }
}

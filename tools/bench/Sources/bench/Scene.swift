import Foundation

/// A clip for measuring picture quality: its content, its coding and its undamaged pictures.
struct Scene {
  static let width = 1280
  static let height = 720
  /// The frames that are compared.
  static let frames = 300
  /// Further frames, which always arrive whole: FFmpeg never outputs its last frames.
  static let furtherFrames = 5
  static let rate = 30
  static let lumaSize = width * height

  enum Kind: String, CaseIterable {
    /// A camera pans and turns over a texture, with much noise; two objects move independently.
    case moving
    /// A fixed camera with little noise; two objects move.
    case still

    var megabits: Int { self == .moving ? 4 : 3 }
  }

  let kind: Kind
  let codec: Stream.Codec
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

  init(_ kind: Kind, _ codec: Stream.Codec, in folder: String) throws {
    self.kind = kind
    self.codec = codec
    let name = "\(kind)-\(codec)"
    let clip = "\(folder)/\(name).\(codec)"
    let (rate, buffer) = ("\(kind.megabits * 1000)k", "\(kind.megabits * 500)k")
    let count = Self.frames + Self.furtherFrames
    try run(
      ["ffmpeg", "-v", "error", "-y", "-filter_complex_threads", "1"]
        + ["-filter_complex", Self.picture(of: kind), "-frames:v", "\(count)"]
        + Self.encoding(codec) + ["-b:v", rate, "-maxrate", rate, "-bufsize", buffer, clip])
    stream = try Stream(of: clip, named: name, rate: Self.rate, in: folder)
    let stamps = stream.packets.map { $0[4..<8].reduce(0) { $0 << 8 | UInt32($1) } }
    guard let origin = stamps.first else { throw BenchError(description: "\(name) has no packets") }
    self.origin = origin
    times = stamps.map { Self.time(of: $0, since: origin) }
    dueTimes = zip(times, Self.places(of: times)).map { time, place in
      (Double(time) + 0.8 * place) / Double(Self.rate)
    }
    let size = try FileManager.default.attributesOfItem(atPath: clip)[.size] as? Int ?? 0
    megabits = Double(size * 8 * Self.rate / count) / 1e6
    guard abs(megabits / Double(kind.megabits) - 1) < 0.2 else {
      throw BenchError(description: "\(name) has \(number(megabits)) Mbit/s")
    }
    let luma = "\(folder)/\(name).luma"
    try run([
      "ffmpeg", "-v", "error", "-y", "-i", clip, "-vf", "extractplanes=y", "-fps_mode",
      "passthrough", "-frames:v", "\(Self.frames)", "-f", "rawvideo", luma,
    ])
    clean = try Data(contentsOf: URL(fileURLWithPath: luma), options: .alwaysMapped)
    guard clean.count == Self.frames * Self.lumaSize, times.last == count - 1 else {
      throw BenchError(description: "\(name) does not have \(Self.frames) frames")
    }
  }

  /// The frame with this RTP timestamp.
  func time(of stamp: UInt32) -> Int { Self.time(of: stamp, since: origin) }

  private static func time(of stamp: UInt32, since origin: UInt32) -> Int {
    let ticks = Int(Int32(bitPattern: stamp &- origin))
    return Int((Double(ticks * rate) / 90_000).rounded())
  }

  /// The position of each packet within its frame, from 0 to below 1.
  private static func places(of times: [Int]) -> [Double] {
    let counts = Dictionary(times.map { ($0, 1) }, uniquingKeysWith: +)
    var seen: [Int: Int] = [:]
    return times.map { time in
      defer { seen[time, default: 0] += 1 }
      return Double(seen[time, default: 0]) / Double(counts[time, default: 1])
    }
  }

  /// A texture with detail of every size, as cameras see it, with objects moving over it.
  private static func picture(of kind: Kind) -> String {
    let octaves = [(20, 12), (96, 54), (400, 225), (1280, 720)]
    let layers = octaves.enumerated().map { index, size in
      "nullsrc=s=\(size.0)x\(size.1):d=0.04:r=25,format=gray,geq=lum='255*random(\(index))',"
        + "scale=2560:1440:flags=bicubic[layer\(index)];"
    }
    let texture =
      layers.joined() + "[layer0][layer1][layer2][layer3]mix=inputs=4:weights='6 3 1 0.3',"
      + "format=yuv420p,loop=-1:1,setpts=N/\(rate)/TB,fps=\(rate),split=3[a][b][c];"
    let camera =
      kind == .moving
      ? "crop=1920:1080:x='320+300*sin(t*1.2)':y='180+170*sin(t*0.9)',"
        + "rotate=a='0.12*sin(t*0.8)':ow=\(width):oh=\(height)"
      : "crop=\(width):\(height):x=300:y=200"
    return texture + "[a]\(camera)[ground];"
      + "[b]crop=200:160:1500:300,eq=brightness=0.2[one];"
      + "[c]crop=140:260:900:1000,eq=brightness=-0.2[two];"
      + "[ground][one]overlay=x='540+500*sin(t*0.9)':y='300+150*cos(t*0.6)'[both];"
      + "[both][two]overlay=x='100+110*t':y='200+100*sin(t*1.1)',"
      + "noise=alls=\(kind == .moving ? 12 : 6):allf=t:all_seed=1,setsar=1,format=yuv420p"
  }

  /// Encodes as cameras do: a key picture every two seconds, one slice per picture, no lookahead.
  private static func encoding(_ codec: Stream.Codec) -> [String] {
    let structure = "keyint=60:min-keyint=60:scenecut=0:bframes=0:rc-lookahead=0"
    return switch codec {
    case .h264:
      ["-c:v", "libx264", "-preset", "veryfast"]
        + ["-x264-params", structure + ":sync-lookahead=0:sliced-threads=0"]
    case .h265:
      ["-c:v", "libx265", "-preset", "veryfast"]
        + ["-x265-params", structure + ":open-gop=0:wpp=0:frame-threads=1:log-level=error"]
    }
  }
}

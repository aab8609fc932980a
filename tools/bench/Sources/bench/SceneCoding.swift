/// How a clip for measuring picture quality is coded.
enum SceneCoding: String, CaseIterable {
  /// As cameras do: a key picture every two seconds, one slice for each picture, no lookahead.
  case camera
  /// As cameras of low delay do: four slices, a key picture every second.
  case slices
  /// As the encoders do by default, with B pictures; a key picture every two seconds.
  case bframes

  /// The ending of the file: an elementary stream tells FFmpeg no times of B pictures.
  func ending(for codec: Stream.Codec) -> String { self == .bframes ? "ts" : codec.rawValue }

  func arguments(for codec: Stream.Codec) -> [String] {
    let name = codec == .h264 ? "264" : "265"
    return ["-c:v", "libx\(name)", "-preset", "veryfast", "-x\(name)-params"]
      + [parameters(for: codec)]
  }

  private func parameters(for codec: Stream.Codec) -> String {
    let structure =
      switch self {
      case .camera: "keyint=60:min-keyint=60:scenecut=0:bframes=0:rc-lookahead=0"
      case .slices: "keyint=30:min-keyint=30:scenecut=0:bframes=0:rc-lookahead=0:slices=4"
      case .bframes: "keyint=60"
      }
    let delay = self == .bframes ? "" : ":sync-lookahead=0"
    return switch codec {
    case .h264: structure + delay + ":sliced-threads=0"
    // x265 makes slices only together with wavefronts.
    case .h265:
      structure + ":open-gop=0:wpp=\(self == .slices ? 1 : 0):frame-threads=1:log-level=error"
    }
  }
}

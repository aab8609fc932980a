import Foundation
import TestSupport
import Testing

/// A short clip made by FFmpeg once per run, with FFmpeg's own decode as the reference.
struct Clip: Sendable, CustomTestStringConvertible {
  enum Codec: String, Sendable, CaseIterable {
    case h264, h265

    var encoder: [String] {
      switch self {
      case .h264: ["-c:v", "libx264", "-preset", "veryfast", "-g", "60"]
      case .h265:
        ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "keyint=60:log-level=none"]
      }
    }
  }

  let codec: Codec
  /// The elementary stream.
  let path: String
  /// The same stream with timestamps, for peers that need them.
  let container: String
  /// The same at a fifth of the speed: fifteen seconds.
  let slowContainer: String
  let frames: Int
  /// Of every frame, the MD5 of its planes as FFmpeg decodes them.
  let hashes: [String]

  var testDescription: String { "\(codec.rawValue), \(frames) frames" }

  /// The one whose container is slow.
  var slow: Clip {
    Clip(
      codec: codec, path: path, container: slowContainer, slowContainer: slowContainer,
      frames: frames, hashes: hashes)
  }

  static let h264 = Result { try make(.h264) }
  static let h265 = Result { try make(.h265) }

  static func of(_ codec: Codec) throws -> Clip {
    try codec == .h264 ? h264.get() : h265.get()
  }

  /// One whose pictures have four slices.
  static func ofSeveralSlices(_ codec: Codec) throws -> Clip {
    let options =
      codec == .h264
      ? ["-x264-params", "slices=4"] : ["-x265-params", "keyint=60:log-level=none:slices=4"]
    return try make(codec, named: "slices", frames: 60, options)
  }

  private static func make(
    _ codec: Codec, named name: String = "clip", frames: Int = 300, _ options: [String] = []
  ) throws -> Clip {
    let path = try Scratch.folder.appendingPathComponent("\(name).\(codec.rawValue)").path
    _ = try FFmpeg.output(
      [
        "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=100",
        "-frames:v", "\(frames)", "-pix_fmt", "yuv420p",
      ] + codec.encoder + options + [path])
    let (container, slowContainer) = (path + ".mp4", path + ".slow.mp4")
    _ = try FFmpeg.output(["-r", "100", "-i", path, "-c", "copy", container])
    _ = try FFmpeg.output(["-r", "20", "-i", path, "-c", "copy", slowContainer])
    return Clip(
      codec: codec, path: path, container: container, slowContainer: slowContainer, frames: frames,
      hashes: try FFmpeg.frameHashes(of: path))
  }
}

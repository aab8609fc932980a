import Foundation

/// A program beside which rtp-recv is measured, as the figures of a whole run name it.
enum Contender: String, Codable, CaseIterable {
  case ours = "rtp-recv"
  /// The one of `--before`.
  case before = "rtp-recv before"
  case ffmpeg = "FFmpeg"
  case newerFFmpeg = "newer FFmpeg"
  case gstreamer = "GStreamer"
  case openCV = "OpenCV"
  /// A program that does only what cannot be left out, such as reading and writing. It is no rival.
  case bare = "bare program"

  var isRival: Bool { ![.ours, .before, .bare].contains(self) }

  var colour: String {
    switch self {
    case .ours: "#1b7837"
    case .before: "#a6dba0"
    case .ffmpeg: "#8073ac"
    case .newerFFmpeg: "#b2abd2"
    case .gstreamer: "#e08214"
    case .openCV: "#4393c3"
    case .bare: "#bababa"
    }
  }
}

/// FFmpeg's program of the system, and the newer one that tools/setup gets from PyPI.
enum FFmpegProgram {
  static let newer: String? = {
    let python = "../../.build/python/bin/python"
    guard FileManager.default.isExecutableFile(atPath: python),
      let running = try? Running([
        python, "-c", "import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())",
      ])
    else { return nil }
    let path = running.waitUntilExit()
    return path.isEmpty ? nil : path
  }()
}

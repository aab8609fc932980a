import CAVFormat
import CFFmpeg

/// Opens files: finds out what is in them, and which source reads them.
enum MediaFile {
  /// Opens the best video stream of the file at `path`.
  static func open(
    path: String, framesPerSecond: Double?
  ) throws(SendError) -> any AccessUnitSource {
    let container = try ContainerSource(path: path)
    guard container.isElementaryStream else { return container }
    // libavformat gives raw streams no presentation times, so these are read by themselves.
    return try ElementaryStreamSource(
      path: path, codec: container.codec, framesPerSecond: framesPerSecond ?? container.frameRate)
  }

  /// `path` in a form that libavformat does not take for a protocol: `a:b.mp4` is a file too.
  static func url(ofPath path: String) -> String { "file:" + path }

  /// The format that the ending of `path` promises, for streams too short or odd to be recognized.
  static func formatName(ofPath path: String) -> String? {
    let ending = path.split(separator: ".").last.map { $0.lowercased() }
    switch ending {
    case "h264", "264", "avc": return "h264"
    case "h265", "265", "hevc": return "hevc"
    default: return nil
    }
  }
}

import Foundation
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
  let frames: Int
  /// Of every frame, the MD5 of its planes as FFmpeg decodes them.
  let hashes: [String]

  var testDescription: String { "\(codec.rawValue), \(frames) frames" }

  static let h264 = Result { try make(.h264) }
  static let h265 = Result { try make(.h265) }

  static func of(_ codec: Codec) throws -> Clip {
    try codec == .h264 ? h264.get() : h265.get()
  }

  private static func make(_ codec: Codec, frames: Int = 300) throws -> Clip {
    let path = try Scratch.folder.appendingPathComponent("clip.\(codec.rawValue)").path
    let encode = try RunningProcess(
      "ffmpeg",
      [
        "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=100",
        "-frames:v", "\(frames)", "-pix_fmt", "yuv420p",
      ] + codec.encoder + [path])
    guard try encode.waitForExit() == 0 else { throw POSIXError(.EIO) }
    let container = path + ".mp4"
    let mux = try RunningProcess(
      "ffmpeg", ["-v", "error", "-y", "-r", "100", "-i", path, "-c", "copy", container])
    guard try mux.waitForExit() == 0 else { throw POSIXError(.EIO) }
    return Clip(
      codec: codec, path: path, container: container, frames: frames,
      hashes: try frameHashes(of: path))
  }

  /// The MD5 of every frame in `path`, as FFmpeg decodes it.
  static func frameHashes(of path: String, options: [String] = []) throws -> [String] {
    let decode = try RunningProcess(
      "ffmpeg",
      ["-v", "error"] + options + [
        "-i", path, "-fps_mode", "passthrough", "-f", "framemd5", "-",
      ])
    try decode.waitForExit()
    return String(decoding: decode.standardOutput, as: UTF8.self)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) } }
  }
}

/// A folder of this test run, emptied when the run begins.
enum Scratch {
  private static let made = Result {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("rtp-recv-tests-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  static var folder: URL { get throws { try made.get() } }

  /// A path in the folder that no other test has.
  static func path(_ ending: String) throws -> String {
    try folder.appendingPathComponent(UUID().uuidString + "." + ending).path
  }
}

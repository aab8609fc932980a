import Foundation

/// Other people's elementary streams, in the folder that `RTP_RECV_STREAMS` names, or else beside
/// this checkout.
///
/// They are too large, and under too many licences, to be part of this package: those of openh264
/// (`res`) and of FFmpeg's FATE suite will do.
public enum ConformanceStreams {
  /// None, unless there is a folder.
  public static let paths =
    ProcessInfo.processInfo.environment["RTP_RECV_STREAMS"].map(files) ?? beside

  /// Those beside this checkout, if they are at hand.
  public static let beside = files(
    in: URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("shared/bitstreams").path)

  private static func files(in folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { !$0.hasPrefix(".") && $0 != "README.md" }.sorted()
      .map { "\(folder)/\($0)" }
  }

  /// Whether a stream is H.265, by its name.
  public static func isH265(_ path: String) -> Bool {
    ["265", "h265", "hevc", "bit"].contains(URL(fileURLWithPath: path).pathExtension)
  }
}

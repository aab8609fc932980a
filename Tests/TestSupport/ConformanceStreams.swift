import Foundation

/// Other people's elementary streams, in the folder that `RTP_RECV_STREAMS` names.
///
/// They are too large, and under too many licences, to be part of this package: those of openh264
/// (`res`) and of FFmpeg's FATE suite will do.
public enum ConformanceStreams {
  /// None, unless the folder is named.
  public static let paths: [String] = {
    guard let folder = ProcessInfo.processInfo.environment["RTP_RECV_STREAMS"] else { return [] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { !$0.hasPrefix(".") }.sorted().map { "\(folder)/\($0)" }
  }()

  /// Whether a stream is H.265, by its name.
  public static func isH265(_ path: String) -> Bool {
    ["265", "h265", "hevc", "bit"].contains(URL(fileURLWithPath: path).pathExtension)
  }
}

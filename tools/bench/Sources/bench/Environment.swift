import Foundation

/// When and where a run was made, and of which versions.
struct Environment: Codable {
  var date = ""
  var machine = ""
  var system = ""
  var versions: [String: String] = [:]

  /// Asks this machine and the programs.
  static func asked() -> Environment {
    var environment = Environment()
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyy-MM-dd"
    environment.date = formatter.string(from: Date())
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let model = first(#/model name\s*: (.+)/#, in: text("/proc/cpuinfo")) ?? "unknown processor"
    let memory = Double(ProcessInfo.processInfo.physicalMemory) / Double(1 << 30)
    environment.machine = "\(cores) cores of \(model), \(number(memory, 0)) GiB"
    let name = first(#/PRETTY_NAME="(.+)"/#, in: text("/etc/os-release")) ?? "unknown system"
    let kernel = text("/proc/sys/kernel/osrelease").trimmingCharacters(in: .newlines)
    environment.system = "\(name), Linux \(kernel)"
    let python = "../../.build/python/bin/python"
    let questions: [(String, [String], Regex<(Substring, Substring)>)] = [
      ("rtp-recv", [Peer.rtpRecv, "--version"], #/(\S+)/#),
      ("commit", ["git", "describe", "--always", "--dirty"], #/(\S+)/#),
      ("Swift", ["swift", "--version"], #/Swift version (\S+)/#),
      ("FFmpeg", ["ffmpeg", "-version"], #/ffmpeg version n?([0-9.]+)/#),
      (
        "newer FFmpeg", [FFmpegProgram.newer ?? "false", "-version"], #/ffmpeg version n?([0-9.]+)/#
      ),
      ("GStreamer", ["gst-launch-1.0", "--version"], #/version (\S+)/#),
      ("OpenCV", [python, "-c", "import cv2; print(cv2.__version__)"], #/(\S+)/#),
      ("curl", ["curl", "--version"], #/curl (\S+)/#),
    ]
    for (name, command, pattern) in questions {
      guard let running = try? Running(command) else { continue }
      if let version = first(pattern, in: running.waitUntilExit()) {
        environment.versions[name] = version
      }
    }
    return environment
  }

  private static func text(_ path: String) -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }

  private static func first(_ pattern: Regex<(Substring, Substring)>, in text: String) -> String? {
    text.firstMatch(of: pattern).map { String($0.1) }
  }
}

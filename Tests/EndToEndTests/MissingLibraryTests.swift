import Glibc
import TestSupport
import Testing

/// One of FFmpeg's libraries is missing or broken; nothing is mounted over it for anybody else.
struct MissingLibraryTests {
  /// Only root may mount, and not in every container.
  private static let works =
    (try? RunningProcess.output(of: "unshare", ["-m", "mount", "--bind", "/", "/mnt"])) != nil

  private func run(without library: String, _ arguments: [String]) throws -> RunningProcess {
    let (sender, address) = try RecordingTests.server(["--frames", "30"])
    let script = #"""
      for file in $(ldconfig -p | sed -n "s/.*$0.* => //p"); do
        mount --bind /dev/null "$file" || exit 99
      done
      exec "$@"
      """#
    let receiver = try RunningProcess(
      "unshare",
      ["-m", "bash", "-c", script, library, Product.rtpRecv, "udp://\(address)"] + arguments)
    _ = try receiver.waitForExit()
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    return receiver
  }

  @Test(
    "pictures that are copied need none of them", .enabled(if: works),
    arguments: ["libavcodec", "libavformat"])
  func copied(library: String) throws {
    let receiver = try run(without: library, ["-o", try Scratch.path("h264"), "--frames", "10"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
  }

  @Test(
    "decoding and recording say which one they need", .enabled(if: works),
    arguments: [
      ("libavcodec", "yuv", "decoding needs FFmpeg's libraries"),
      ("libavutil", "yuv", "decoding needs FFmpeg's libraries"),
      ("libavformat", "mp4", "recordings need libavformat"),
    ])
  func needed(library: String, ending: String, words: String) throws {
    let receiver = try run(without: library, ["-o", try Scratch.path(ending)])
    #expect(try receiver.waitForExit() != 0)
    let lines = receiver.standardError.split(separator: "\n")
    #expect(
      lines.contains { $0.contains(words) && $0.contains("\(library).so") },
      "\(receiver.standardError)")
  }
}

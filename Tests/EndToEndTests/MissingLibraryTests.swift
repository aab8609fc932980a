import Glibc
import TestSupport
import Testing

/// One of FFmpeg's libraries is missing or broken; nothing is mounted over it for anybody else.
struct MissingLibraryTests {
  /// Only root may mount, and not in every container.
  private static let works =
    (try? RunningProcess.output(of: "unshare", ["-m", "mount", "--bind", "/", "/mnt"])) != nil

  private func run(
    without library: String, _ arguments: [String], isListed: Bool = false
  ) throws -> RunningProcess {
    let (sender, source) = try RecordingTests.soundServer(["--frames", "30", "--audio", "aac"])
    // The description alone is what can be listed.
    let receiver = try receive((isListed ? source.suffix(1) : source) + arguments, without: library)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    return receiver
  }

  private func receive(_ arguments: [String], without library: String) throws -> RunningProcess {
    let script = #"""
      for file in $(ldconfig -p | sed -n "s/.*$0.* => //p"); do
        mount --bind /dev/null "$file" || exit 99
      done
      exec "$@"
      """#
    let receiver = try RunningProcess(
      "unshare", ["-m", "bash", "-c", script, library, Product.rtpRecv] + arguments)
    _ = try receiver.waitForExit()
    return receiver
  }

  @Test(
    "pictures that are copied, and a list of what there is, need none of them",
    .enabled(if: works), arguments: ["libavutil", "libavcodec", "libavformat"], [false, true])
  func copied(library: String, isListed: Bool) throws {
    let receiver = try run(
      without: library,
      isListed ? ["--list"] : ["-o", try Scratch.path("h264"), "--frames", "10"],
      isListed: isListed)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
  }

  @Test(
    "decoding and recording say which one they need", .enabled(if: works),
    arguments: [
      ("libavcodec", "yuv", "decoding needs FFmpeg's libraries", 17),
      ("libavutil", "yuv", "decoding needs FFmpeg's libraries", 17),
      ("libswscale", "y4m", "decoding needs FFmpeg's libraries", 17),
      ("libavcodec", "wav", "decoding needs FFmpeg's libraries", 4),
      ("libavformat", "mp4", "recordings need libavformat", 6),
    ])
  func needed(library: String, ending: String, words: String, status: Int32) throws {
    let receiver = try run(without: library, ["-o", try Scratch.path(ending)])
    #expect(try receiver.waitForExit() == status)
    let lines = receiver.standardError.split(separator: "\n")
    #expect(
      lines.contains { $0.contains(words) && $0.contains("\(library).so") },
      "\(receiver.standardError)")
  }
  @Test(
    "so does a recording that is over before its decoder's process has begun", .enabled(if: works))
  func recorded() throws {
    let capture = try Scratch.path("pcapng")
    let (receiver, port) = try CommandTests.listener(["--capture", capture, "--timeout", "20"])
    let sender = try RunningProcess(
      Product.rtpSend, ["pattern", "--frames", "5", "udp://127.0.0.1:\(port)"])
    #expect(try sender.waitForExit() == 0)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let player = try receive([capture, "-o", Scratch.path("yuv")], without: "libswscale")
    #expect(try player.waitForExit() == 17)
    #expect(player.standardError.contains("libswscale.so"), "\(player.standardError)")
  }
}

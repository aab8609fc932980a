import Foundation
import TestSupport
import Testing

/// Other people's elementary streams come out as FFmpeg decodes them, whoever sends them.
@Suite(
  .serialized,
  .enabled(if: !ConformanceStreams.beside.isEmpty, "the streams are not beside this checkout"))
struct ConformanceStreamTests {
  enum Sender: CaseIterable, Sendable { case rtpSend, ffmpeg, gstreamer }

  /// All but one whose first key picture is missing.
  private static let whole = ConformanceStreams.beside.filter {
    !$0.hasSuffix("/BA_MW_D_IDR_LOST.264")
  }

  @Test("every picture of a whole stream", arguments: whole, Sender.allCases)
  func everyPicture(stream: String, sender: Sender) throws {
    let format = ConformanceStreams.isH265(stream) ? "hevc" : "h264"
    // FFmpeg rounds the left edge of a picture unless told otherwise, and scales what changes its
    // size.
    let expected = try FFmpeg.frameHashes(
      of: stream, options: ["-threads", "1", "-flags", "unaligned", "-f", format],
      conversion: ["-autoscale", "0"])
    #expect(!expected.isEmpty)
    let received = try withoutKernelDrops { try hashes(of: stream, from: sender) }
    #expect(received == expected)
  }

  /// Those of all pictures that are received.
  private func hashes(of stream: String, from sender: Sender) throws -> [String] {
    let output = try Scratch.path("jsonl")
    let (receiver, port) = try CommandTests.listener([
      "-o", output, "--frame-md5", "--timeout", "20",
    ])
    let command = Self.command(sender, stream, port)
    let process = try RunningProcess(command[0], Array(command.dropFirst()))
    #expect(try process.waitForExit() == 0, "\(process.standardError)")
    if sender != .rtpSend { try Goodbye.say(toPortAbove: port) }
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    return try String(contentsOfFile: output, encoding: .utf8)
      .matches(of: #/"md5":"([0-9a-f]+)"/#).map { String($0.1) }
  }

  /// At 4,000 packets a second, or at 100 pictures.
  private static func command(_ sender: Sender, _ stream: String, _ port: UInt16) -> [String] {
    let isH265 = ConformanceStreams.isH265(stream)
    switch sender {
    case .rtpSend:
      return [
        Product.rtpSend, stream, "udp://127.0.0.1:\(port)", "--fps", "30", "--rate", "4000",
      ]
    case .ffmpeg:
      return ["ffmpeg", "-nostdin", "-v", "error", "-re", "-r", "100"]
        + ["-f", isH265 ? "hevc" : "h264", "-i", stream, "-c", "copy", "-copyinkf", "-f", "rtp"]
        + ["-ssrc", "\(Goodbye.source)", "-payload_type", "96"]
        + ["rtp://127.0.0.1:\(port)?pkt_size=1400"]
    case .gstreamer:
      let codec = isH265 ? "h265" : "h264"
      let pipeline =
        "filesrc location=\(stream) ! \(codec)parse ! rtp\(codec)pay pt=96 mtu=1400 "
        + "config-interval=-1 ssrc=\(Goodbye.source) ! identity sleep-time=250 "
        + "! udpsink host=127.0.0.1 port=\(port)"
      return ["gst-launch-1.0", "-q"] + pipeline.split(separator: " ").map(String.init)
    }
  }
}

import Foundation
import TestSupport
import Testing

/// Other people's elementary streams come out as FFmpeg decodes them, whoever sends them.
@Suite(.serialized, .enabled(if: !ConformanceStreams.paths.isEmpty))
struct ConformanceStreamTests {
  enum Sender: CaseIterable, Sendable { case rtpSend, ffmpeg, gstreamer }

  @Test(arguments: ConformanceStreams.paths, Sender.allCases)
  func comesOutAsFFmpegDecodesIt(stream: String, sender: Sender) throws {
    let isH265 = ConformanceStreams.isH265(stream)
    // FFmpeg alone rounds the left edge of a picture, and scales what changes its size.
    let expected = try FFmpeg.frameHashes(
      of: stream, options: ["-flags", "unaligned", "-f", isH265 ? "hevc" : "h264"],
      conversion: ["-autoscale", "0"])
    let folder = try TemporaryFolder()
    // The name tells `rtp-send` what the file is.
    let source = folder("stream.\(isH265 ? "h265" : "h264")")
    try FileManager.default.createSymbolicLink(atPath: source, withDestinationPath: stream)
    let receiver = try receive(source, from: sender, isH265 ? "h265" : "h264", into: folder)
    let files = folder.names.filter { $0.hasSuffix(".y4m") }
    // received.0001.y4m and so on, with pictures of another size, come after received.y4m.
    let received = try (["received.y4m"] + files.filter { $0 != "received.y4m" })
      .filter(files.contains).flatMap { try FFmpeg.frameHashes(of: folder($0)) }
    #expect(received == expected, "\(receiver.standardError)")
  }

  private func receive(
    _ source: String, from sender: Sender, _ codec: String, into folder: TemporaryFolder
  ) throws -> RunningProcess {
    let options = ["-o", folder("received.y4m"), "--timeout", "3"]
    if sender == .rtpSend {
      let server = try SendingServer(source, ["--fast", "--fps", "30"])
      let receiver = try RunningProcess(Product.rtpRecv, [server.url] + options)
      try receiver.waitForExit(within: 120)
      return receiver
    }
    let receiver = try RunningProcess(Product.rtpRecv, ["rtp://127.0.0.1:0"] + options)
    let port = try receiver.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    let pipeline =
      "filesrc location=\(source) ! \(codec)parse ! rtp\(codec)pay pt=96 mtu=1400 "
      + "! udpsink host=127.0.0.1 port=\(port)"
    let process =
      sender == .gstreamer
      ? try RunningProcess(
        "gst-launch-1.0", ["-q"] + pipeline.split(separator: " ").map(String.init))
      : try RunningProcess(
        "ffmpeg",
        ["-v", "error", "-re", "-r", "100", "-i", source, "-c", "copy", "-f", "rtp"]
          + ["rtp://127.0.0.1:\(port)?pkt_size=1400"])
    try receiver.waitForExit(within: 120)
    try process.waitForExit()
    return receiver
  }
}

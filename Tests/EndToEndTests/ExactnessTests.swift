import Foundation
import TestSupport
import Testing

/// What peers packetize comes out of `rtp-recv` as FFmpeg decodes the clip: every frame, byte for
/// byte.
@Suite(.serialized)
struct ExactnessTests {
  enum Packetizer: String, CaseIterable, Sendable { case ffmpeg, gstreamer }
  enum Network: String, CaseIterable, Sendable { case inOrder, reorderedAndDuplicated }

  static let cases: [(Clip.Codec, Packetizer, Network)] = Clip.Codec.allCases.flatMap { codec in
    Packetizer.allCases.flatMap { packetizer in
      Network.allCases.map { (codec, packetizer, $0) }
    }
  }

  @Test("every frame of a clip that begins at sequence number 65000", arguments: cases)
  func everyFrameIsExact(
    codec: Clip.Codec, packetizer: Packetizer, network: Network
  ) throws {
    let clip = try Clip.of(codec)
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:0", "-o", output, "--frames", "\(clip.frames)"]
        + ["--stats", "-", "--timeout", "20", "--reorder-window", "2000"])
    let port = try #require(
      UInt16(receiver.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1))
    let relay = try ImpairingProxy(
      to: port, plan: network == .inOrder ? "" : "0 duplicate 1%, reorder 5% 5 within 20ms",
      seed: 20_26)

    try Self.send(clip, with: packetizer, to: relay.port)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try relay.stop() == 0)

    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] == 0)
    #expect(statistics["rtp", "late"] == 0)
    #expect((statistics["rtp", "reordered"] > 0) == (network != .inOrder))
    #expect((statistics["rtp", "duplicate"] > 0) == (network != .inOrder))
  }

  @Test("the commonest low-latency sender: parameter sets before each slice of a key picture")
  func parameterSetsBeforeEachSlice() throws {
    let frames = 60
    let output = try Scratch.path("y4m")
    let sent = try Scratch.path("h264")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:0", "-o", output, "--frames", "\(frames)", "--stats", "-"]
        + ["--timeout", "20"])
    let port = try receiver.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    let pipeline =
      "videotestsrc num-buffers=\(frames) is-live=true "
      + "! video/x-raw,width=320,height=240,format=I420,framerate=25/1 "
      + "! x264enc tune=zerolatency key-int-max=25 threads=4 ! video/x-h264,stream-format=byte-stream "
      + "! tee name=t ! queue ! rtph264pay config-interval=-1 pt=96 ssrc=\(Goodbye.source) "
      + "! udpsink host=127.0.0.1 port=\(port) t. ! queue ! filesink location=\(sent)"
    let sender = try RunningProcess(
      "gst-launch-1.0", ["-q"] + pipeline.split(separator: " ").map(String.init))
    try sender.waitForExit()
    try Goodbye.say(toPortAbove: #require(UInt16(port)))
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")

    #expect(try FFmpeg.frameHashes(of: output) == FFmpeg.frameHashes(of: sent))
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] == 0)
    #expect(statistics["delivery", "intact"] == frames)
    #expect(statistics["delivery", "damaged_access_units"] == 0)
  }

  @Test("many streams from one process, each exact")
  func manyStreams() throws {
    let clip = try Clip.h264.get()
    let first = try FreePort.udpPair()
    let outputs = try (0..<2).map { _ in try Scratch.path("y4m") }
    let receivers = try outputs.enumerated().map { index, output in
      try RunningProcess(
        Product.rtpRecv,
        ["rtp://127.0.0.1:\(first + UInt16(2 * index))", "-o", output, "--timeout", "20"])
    }
    for receiver in receivers { _ = try receiver.waitForLine(#/listening on/#) }
    let sender = try RunningProcess(
      Product.rtpSend,
      [clip.path, "udp://127.0.0.1:\(first)", "--fps", "100", "--streams", "2", "--stats", "-"])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(
      String(decoding: sender.standardOutput, as: UTF8.self).contains(
        "\"frames\":\(2 * clip.frames),"))
    for (receiver, output) in zip(receivers, outputs) {
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
      #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    }
  }

  /// Sends `clip` to its end, with a goodbye.
  static func send(_ clip: Clip, with packetizer: Packetizer, to port: UInt16) throws {
    let sender: RunningProcess
    switch packetizer {
    case .ffmpeg:
      sender = try RunningProcess(
        "ffmpeg",
        ["-v", "error", "-re", "-i", clip.container, "-c", "copy", "-f", "rtp", "-seq", "65000"]
          + ["-ssrc", "\(Goodbye.source)", "-payload_type", "96"]
          + ["rtp://127.0.0.1:\(port)?pkt_size=1400"])
    case .gstreamer:
      let name = clip.codec.rawValue
      let pipeline =
        "filesrc location=\(clip.container) ! qtdemux ! \(name)parse config-interval=-1 "
        + "! rtp\(name)pay seqnum-offset=65000 pt=96 mtu=1400 ssrc=\(Goodbye.source) "
        + "! udpsink host=127.0.0.1 port=\(port)"
      sender = try RunningProcess(
        "gst-launch-1.0", ["-q"] + pipeline.split(separator: " ").map(String.init))
    }
    try sender.waitForExit()
    try Goodbye.say(toPortAbove: port)
  }
}

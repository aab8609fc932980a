import Foundation
import TestSupport
import Testing

/// Streams with forward error correction through a network that loses packets.
@Suite(.serialized)
struct CorrectionTests {
  enum Carriage: String, CaseIterable, Sendable {
    /// Correction packets beside the media, with a separate payload type.
    case plain
    /// Both in RED (RFC 2198), as browsers send them.
    case redundant
  }

  @Test(
    "what GStreamer's rtpulpfecenc protects is exact in spite of loss",
    arguments: zip(Clip.Codec.allCases, Carriage.allCases))
  func gstreamer(codec: Clip.Codec, carriage: Carriage) throws {
    let clip = try Clip.of(codec)
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener([
      "-o", output, "--frames", "\(clip.frames)", "--stats", "-", "--timeout", "20",
      "--fec", carriage == .plain ? "ulpfec:97" : "ulpfec:97,red:98", "--reorder-window", "2000",
    ])
    // Where a stream begins can only be seen if its first packets come.
    let relay = try ImpairingProxy(to: port, plan: "50ms lose 1 of 100", seed: 5)
    let name = codec.rawValue
    let pipeline =
      "filesrc location=\(clip.container) ! qtdemux ! \(name)parse config-interval=-1 "
      + "! rtp\(name)pay pt=96 mtu=400 ssrc=\(Goodbye.source) "
      + "! rtpulpfecenc pt=97 percentage=100 "
      + (carriage == .plain ? "" : "! rtpredenc pt=98 ")
      + "! udpsink host=127.0.0.1 port=\(relay.port)"
    let sender = try RunningProcess(
      "gst-launch-1.0", ["-q"] + pipeline.split(separator: " ").map(String.init))
    try sender.waitForExit()
    try Goodbye.say(toPortAbove: relay.port)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try relay.stop() == 0)

    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "recovered"] > 0)
    #expect(statistics["rtp", "error_correction", "lost"] > 0)
    #expect(statistics["rtp", "error_correction", "malformed"] == 0)
    #expect(statistics["rtp", "error_correction", "implausible"] == 0)
  }

  @Test(
    "what rtp-send protects is exact in spite of loss, also when it is played again",
    arguments: [
      (Clip.Codec.h264, "ulpfec", ""), (.h265, "ulpfec", ""), (.h264, "flexfec", ""),
      (.h265, "flexfec-03", ""), (.h264, "ulpfec", ",red:98"),
    ])
  func sender(codec: Clip.Codec, format: String, carriage: String) throws {
    let clip = try Clip.of(codec)
    let output = try Scratch.path("y4m")
    let description = try Scratch.path("sdp")
    let capture = try Scratch.path("pcapng")
    let (receiver, port) = try CommandTests.listener([
      "-o", output, "--frames", "\(clip.frames)", "--stats", "-", "--timeout", "20",
      "--fec", "\(format):97\(carriage)", "--reorder-window", "2000", "--capture", capture,
    ])
    let sender = try RunningProcess(
      Product.rtpSend,
      [clip.container, "udp://127.0.0.1:\(port)", "--fec", "\(format):97,5\(carriage)"]
        + ["--loss", "0.01", "--seed", "2", "--sdp", description])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(
      try String(contentsOfFile: description, encoding: .utf8)
        .contains("a=rtpmap:97 \(format)/90000"))

    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "recovered"] > 0)
    #expect(statistics["delivery", "damaged_access_units"] == 0)

    let again = try Scratch.path("y4m")
    let player = try RunningProcess(
      Product.rtpRecv, [capture, "-o", again, "--fec", "\(format):97\(carriage)", "--quiet"])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    #expect(try FFmpeg.frameHashes(of: again) == clip.hashes)
  }

  @Test(
    "rows and columns of GStreamer's rtpst2022-1-fecenc mend what is lost",
    arguments: Clip.Codec.allCases)
  func matrixOfGStreamer(codec: Clip.Codec) throws {
    let clip = try Clip.of(codec)
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener([
      "-o", output, "--frames", "\(clip.frames)", "--stats", "-", "--timeout", "20",
      "--fec", "st2022-1", "--reorder-window", "1000",
    ])
    // Where a stream begins can only be seen if its first packets come.
    let relay = try ImpairingProxy(to: port, plan: "50ms lose 1 of 50", seed: 5)
    let name = codec.rawValue
    let pipeline =
      "filesrc location=\(clip.container) ! qtdemux ! \(name)parse config-interval=-1 "
      + "! rtp\(name)pay pt=96 mtu=400 ssrc=0 ! rtpst2022-1-fecenc name=fec columns=5 rows=5 "
      + "fec.src ! udpsink host=127.0.0.1 port=\(relay.port) "
      + "fec.fec_0 ! udpsink host=127.0.0.1 port=\(port + 2) async=false "
      + "fec.fec_1 ! udpsink host=127.0.0.1 port=\(port + 4) async=false"
    let sender = try RunningProcess(
      "gst-launch-1.0", ["-q"] + pipeline.split(separator: " ").map(String.init))
    try sender.waitForExit()
    try Goodbye.say(toPortAbove: relay.port, of: 0)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try relay.stop() == 0)

    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "recovered"] > 0)
    #expect(statistics["rtp", "lost"] == 0)
    #expect(statistics["rtp", "error_correction", "malformed"] == 0)
    #expect(statistics["rtp", "error_correction", "implausible"] == 0)
  }

  @Test("rows and columns of rtp-send mend what is lost, also when it is played again")
  func matrixOfSender() throws {
    let clip = try Clip.of(.h264)
    let output = try Scratch.path("y4m")
    let capture = try Scratch.path("pcapng")
    let (receiver, port) = try CommandTests.listener([
      "-o", output, "--frames", "\(clip.frames)", "--stats", "-", "--timeout", "20",
      "--fec", "st2022-1", "--reorder-window", "1000", "--capture", capture,
    ])
    let sender = try RunningProcess(
      Product.rtpSend,
      [clip.container, "udp://127.0.0.1:\(port)", "--fec", "st2022-1,6,5", "--packet-size", "400"]
        + ["--loss", "0.02", "--seed", "2"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "recovered"] > 0)
    #expect(statistics["rtp", "lost"] == 0)
    #expect(statistics["rtp", "error_correction", "malformed"] == 0)

    let again = try Scratch.path("y4m")
    let player = try RunningProcess(
      Product.rtpRecv,
      [capture, "-o", again, "--fec", "st2022-1", "--reorder-window", "1000", "--quiet"])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    #expect(try FFmpeg.frameHashes(of: again) == clip.hashes)
  }

  @Test(
    "SMPTE ST 2022-1 is refused where there are no ports for it",
    arguments: ["udp://127.0.0.1:5004", "rtsp://127.0.0.1/x", "http://127.0.0.1/x", "-"])
  func noCorrectionPorts(source: String) throws {
    let receiver = try RunningProcess(Product.rtpRecv, [source, "--fec", "st2022-1"])
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains("2022-1"))
    for destination in ["listen://127.0.0.1:0", "http://127.0.0.1:0", "udp://127.0.0.1:65534"] {
      let sender = try RunningProcess(
        Product.rtpSend, ["pattern", destination, "--fec", "st2022-1,5,5"])
      #expect(try sender.waitForExit() == 64)
      #expect(sender.standardError.contains("2022-1"))
    }
  }

  @Test(
    "what --fec does not mean is said before anything is opened",
    arguments: [
      ["--fec", "ulpfec"], ["--fec", "ulpfec:128"], ["--fec", "parity:97"],
      ["--fec", "ulpfec:97,red:97"], ["--fec", "red:98"], ["--fec", "ulpfec:97,red:98,red:99"],
      ["--fec", "ulpfec:96", "--payload-type", "96"], ["--fec", "st2022-1:97"],
    ])
  func mistakes(options: [String]) throws {
    let receiver = try RunningProcess(Product.rtpRecv, ["rtp://127.0.0.1:0"] + options)
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains("--fec"))
  }
}

import Foundation
import TestSupport
import Testing

/// Captures that other programs wrote or read, and what comes out of them.
@Suite(.serialized)
struct CaptureTests {
  /// Whether this machine lets captures be taken from loopback.
  static let mayCapture: Bool = {
    let path = NSTemporaryDirectory() + "\(UUID().uuidString).pcapng"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let dumpcap = try? RunningProcess(
      "dumpcap", ["-q", "-i", "lo", "-a", "duration:1", "-w", path])
    return (try? dumpcap?.waitForExit(within: 20)) == 0
  }()

  /// Sequence numbers as tshark lists them.
  static func sequenceNumbers(in path: String, port: UInt16) throws -> [Int] {
    let tshark = try RunningProcess(
      "tshark",
      ["-r", path, "-d", "udp.port==\(port),rtp", "-Y", "rtp", "-T", "fields", "-e", "rtp.seq"])
    #expect(try tshark.waitForExit() == 0, "\(tshark.standardError)")
    return String(decoding: tshark.standardOutput, as: UTF8.self)
      .split(separator: "\n").compactMap { Int($0) }
  }

  @Test(
    "what --capture wrote is opened by tshark and played again", arguments: Clip.Codec.allCases)
  func captureAndReplay(codec: Clip.Codec) throws {
    let clip = try Clip.of(codec)
    let capture = try Scratch.path("pcapng")
    // With a file as output, packets wait for a decoder that a busy machine does not run.
    let (receiver, port) = try CommandTests.listener([
      "--capture", capture, "--frames", "\(clip.frames)", "--timeout", "20", "--stats", "-",
      "-o", try Scratch.path("y4m"),
    ])
    try ExactnessTests.send(clip, with: .ffmpeg, to: port)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let received = try Statistics(lastLineOf: receiver)
    let numbers = try Self.sequenceNumbers(in: capture, port: 5004)
    #expect(numbers.count == received["rtp", "delivered"])
    #expect(numbers == (0..<numbers.count).map { (65_000 + $0) % 65_536 })

    let output = try Scratch.path("y4m")
    let again = try Scratch.path("pcapng")
    let player = try RunningProcess(
      Product.rtpRecv, [capture, "-o", output, "--capture", again, "--quiet"])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    #expect(try Self.sequenceNumbers(in: again, port: 5004) == numbers)
  }

  @Test(
    "what dumpcap recorded of senders over UDP",
    .enabled(if: mayCapture, "captures may not be taken here"),
    arguments: ExactnessTests.Packetizer.allCases)
  func dumpcapOfUDP(packetizer: ExactnessTests.Packetizer) throws {
    let clip = try Clip.of(.h264)
    let path = try Scratch.path(packetizer == .ffmpeg ? "pcapng" : "pcap")
    let (receiver, port) = try CommandTests.listener(["--timeout", "20"])
    let dumpcap = try Self.record(
      "udp port \(port)", to: path, options: packetizer == .ffmpeg ? [] : ["-P"])
    try ExactnessTests.send(clip, with: packetizer, to: port)
    try receiver.waitForExit()
    try Self.end(dumpcap, of: path)
    #expect(try Self.hashes(of: path) == clip.hashes)
  }

  @Test(
    "what dumpcap recorded of a session of RTSP, with the parameter sets in SDP",
    .enabled(if: mayCapture, "captures may not be taken here"))
  func dumpcapOfRTSP() throws {
    let clip = try Clip.of(.h264)
    let server = try GStreamerServer(clip)
    let path = try Scratch.path("pcapng")
    let dumpcap = try Self.record("tcp port \(server.port)", to: path)
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url(), "--rtsp-transport", "tcp", "-o", output, "--frames", "\(clip.frames)"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try Self.end(dumpcap, of: path)
    #expect(try Self.hashes(of: path).prefix(clip.frames) == clip.hashes[...])
  }

  @Test("what cannot be written is said, and costs no frame")
  func captureToAFullDisk() throws {
    let (sender, address) = try CommandTests.server(["--frames", "30"])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", output, "--capture", "/dev/full"])
    #expect(try receiver.waitForExit() == 6)
    #expect(receiver.standardError.contains("/dev/full cannot be written: No space left"))
    #expect(try FFmpeg.frameHashes(of: output).count == 30)
    try sender.waitForExit()
  }

  @Test(
    "what is played is never written over",
    arguments: [["--capture"], ["--format", "yuv", "-o"], ["--stats"]])
  func writingOverWhatIsPlayed(options: [String]) throws {
    let path = try Scratch.path("rtp4")
    try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
    let receiver = try RunningProcess(Product.rtpRecv, [path] + options + [path])
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains("would be overwritten"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("precious".utf8))
  }

  @Test(
    "a recording that cannot be played is said to be none",
    arguments: [
      (["/nowhere/x.pcap"], 2, "No such file"),
      (["--transport", "replay", "/tmp"], 2, "directory"),
      (["--transport", "replay", "/etc/passwd"], 2, "pcap, pcapng, rtpdump"),
      (["x.pcap", "--reconnect"], 64, "--reconnect is for live"),
      (["x.pcap", "--speed", "0"], 64, "above 0"),
    ])
  func wrongRecording(arguments: [String], status: Int32, hint: String) throws {
    let receiver = try RunningProcess(Product.rtpRecv, arguments)
    #expect(try receiver.waitForExit() == status)
    #expect(receiver.standardError.contains(hint), "\(receiver.standardError)")
  }

  /// Begins to record what goes over loopback, and returns when that is so.
  static func record(
    _ filter: String, to path: String, options: [String] = []
  ) throws -> RunningProcess {
    let dumpcap = try RunningProcess(
      // Signals are blocked in the threads that tests run on, and so they are in what they start.
      "env",
      ["--default-signal=INT", "dumpcap", "-i", "lo", "-B", "64", "-w", path]
        + ["-f", "\(filter) or host \(markerHost)"] + options)
    // It says so before the first packet can be in it.
    _ = try dumpcap.waitForLine(#/File: /#)
    try waitForMarker(in: path)
    return dumpcap
  }

  /// Ends a recording once everything up to now is in it.
  static func end(_ dumpcap: RunningProcess, of path: String) throws {
    try waitForMarker(in: path)
    dumpcap.send(signal: SIGINT)
    #expect(try dumpcap.waitForExit() == 0, "\(dumpcap.standardError)")
  }

  /// Returns when a datagram that is sent now, or later, is in the recording.
  private static func waitForMarker(in path: String) throws {
    let marker = UUID().uuidString
    try waitUntil("the recording has the marker") {
      let sender = try RunningProcess(
        "bash", ["-c", "echo \(marker) > /dev/udp/\(markerHost)/9"])
      try sender.waitForExit()
      let content = try Data(contentsOf: URL(fileURLWithPath: path))
      return content.range(of: Data(marker.utf8)) != nil
    }
  }

  /// An address that no other test sends to, where nothing listens.
  private static let markerHost = "127.0.0.99"

  static func hashes(of recording: String) throws -> [String] {
    let output = try Scratch.path("y4m")
    let player = try RunningProcess(
      Product.rtpRecv, [recording, "-o", output, "--quiet", "--stats", "-"])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    #expect(try Statistics(lastLineOf: player)["rtp", "lost"] == 0)
    return try FFmpeg.frameHashes(of: output)
  }
}

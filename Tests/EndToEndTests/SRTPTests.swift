import Foundation
import TestSupport
import Testing

/// SRTP between `rtp-recv`, `rtp-send` and others: every frame as FFmpeg decodes the clip, and
/// nothing of a key anywhere.
@Suite(.serialized)
struct SRTPTests {
  /// A suite, and how GStreamer calls it.
  struct Suite: Sendable, CustomTestStringConvertible {
    let name: String
    /// Bytes of key and salt.
    let length: Int
    let cipher: String
    let authentication: String

    var testDescription: String { name }

    static let all = [
      Suite(name: "AES_CM_128_HMAC_SHA1_80", length: 30, "aes-128-icm", "hmac-sha1-80"),
      Suite(name: "AES_CM_128_HMAC_SHA1_32", length: 30, "aes-128-icm", "hmac-sha1-32"),
      Suite(name: "AES_256_CM_HMAC_SHA1_80", length: 46, "aes-256-icm", "hmac-sha1-80"),
      Suite(name: "AES_256_CM_HMAC_SHA1_32", length: 46, "aes-256-icm", "hmac-sha1-32"),
      Suite(name: "AEAD_AES_128_GCM", length: 28, "aes-128-gcm", "null"),
      Suite(name: "AEAD_AES_256_GCM", length: 44, "aes-256-gcm", "null"),
    ]

    init(name: String, length: Int, _ cipher: String, _ authentication: String) {
      self.name = name
      self.length = length
      self.cipher = cipher
      self.authentication = authentication
    }

    /// Key and salt derived from a seed.
    func key(_ seed: UInt8 = 1) -> Data {
      var state = UInt32(seed) &* 2_654_435_761 &+ UInt32(length)
      return Data(
        (0..<length).map { _ in
          state = state &* 1_664_525 &+ 1_013_904_223
          return UInt8(truncatingIfNeeded: state >> 24)
        })
    }

    /// GStreamer's SRTCP tag is as long as libsrtp's, and as RFC 3711 §5.2 requires.
    var controlAuthentication: String {
      authentication == "null" ? authentication : "hmac-sha1-80"
    }

    func keyFile(_ seed: UInt8 = 1, identifier: String? = nil) throws -> String {
      let path = try Scratch.path("key")
      let line = [name, key(seed).base64EncodedString(), identifier].compactMap(\.self)
      _ = FileManager.default.createFile(
        atPath: path, contents: Data((line.joined(separator: " ") + "\n").utf8),
        attributes: [.posixPermissions: 0o600])
      return path
    }
  }

  private static func hexadecimal(_ bytes: Data) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
  }

  @Test("FFmpeg's SRTP", arguments: Suite.all.prefix(2), Clip.Codec.allCases)
  func ffmpeg(_ suite: Suite, _ codec: Clip.Codec) throws {
    let clip = try Clip.of(codec)
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener([
      "-o", output, "--frames", "\(clip.frames)", "--stats", "-", "--timeout", "20",
      "--srtp-key-file", suite.keyFile(),
    ])
    let sender = try RunningProcess(
      "ffmpeg",
      ["-v", "error", "-re", "-i", clip.container, "-c", "copy", "-f", "rtp"]
        + ["-srtp_out_suite", suite.name, "-srtp_out_params", suite.key().base64EncodedString()]
        + ["srtp://127.0.0.1:\(port)?pkt_size=1400"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    withExtendedLifetime(sender) {}
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] == 0)
    // FFmpeg shortens the tag of SRTCP with that of SRTP, which RFC 4568 §6.2.2 does not; whether a
    // report comes in so short a time, and the port beside the media's is free, is chance.
    if !suite.name.hasSuffix("_32") {
      #expect(statistics["transport", "srtp", "authentication_failed"] == 0)
    }
  }

  /// Each suite, and an identifier once before the tag and once after it.
  static let encrypted: [(suite: Suite, identifier: String?)] =
    Suite.all.map { ($0, nil) }
    + [Suite.all.first, Suite.all.last].compactMap { suite in
      suite.map { ($0, "0a0b0c0d") }
    }

  @Test("GStreamer's srtpenc", arguments: encrypted)
  func gstreamer(_ suite: Suite, _ identifier: String?) throws {
    let clip = try Clip.of(.h264)
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener([
      "-o", output, "--frames", "\(clip.frames)", "--stats", "-", "--timeout", "20",
      "--srtp-key-file", suite.keyFile(identifier: identifier),
    ])
    let pipeline =
      "filesrc location=\(clip.container) ! qtdemux ! h264parse config-interval=-1 "
      + "! rtph264pay seqnum-offset=65000 pt=96 mtu=1400 "
      + "! srtpenc key=\(Self.hexadecimal(suite.key())) rtp-cipher=\(suite.cipher) "
      + "rtp-auth=\(suite.authentication) rtcp-cipher=\(suite.cipher) "
      + "rtcp-auth=\(suite.controlAuthentication) "
      + (identifier.map { "mki=\($0) " } ?? "") + "! udpsink host=127.0.0.1 port=\(port)"
    let sender = try RunningProcess(
      "gst-launch-1.0", ["-q"] + pipeline.split(separator: " ").map(String.init))
    #expect(
      try receiver.waitForExit() == 0, "\(receiver.standardError) \(sender.standardError)")
    withExtendedLifetime(sender) {}
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] == 0)
    #expect(statistics["transport", "srtp", "authentication_failed"] == 0)
  }

  @Test("ours into GStreamer's srtpdec", arguments: Suite.all)
  func intoGStreamer(_ suite: Suite) throws {
    let clip = try Clip.of(.h264)
    let output = try Scratch.path("h264")
    let port = try FreePort.udpPair()
    let caps =
      "application/x-srtp,media=(string)video,clock-rate=(int)90000,encoding-name=(string)H264,"
      + "payload=(int)96,ssrc=(uint)77,roc=(uint)0,"
      + "srtp-key=(buffer)\(Self.hexadecimal(suite.key())),"
      + "srtp-cipher=(string)\(suite.cipher),srtp-auth=(string)\(suite.authentication),"
      + "srtcp-cipher=(string)\(suite.cipher),srtcp-auth=(string)\(suite.controlAuthentication)"
    let pipeline =
      "udpsrc port=\(port) buffer-size=4000000 caps=\(caps) ! srtpdec ! rtph264depay ! h264parse "
      + "! video/x-h264,stream-format=byte-stream,alignment=au "
      // It lets one buffer less pass.
      + "! identity eos-after=\(clip.frames + 1) "
      + "! filesink location=\(output)"
    let receiver = try RunningProcess(
      "gst-launch-1.0", pipeline.split(separator: " ").map(String.init))
    _ = try receiver.waitForLine(#/Setting pipeline to PLAYING|New clock/#)
    let sender = try RunningProcess(
      Product.rtpSend,
      [clip.path, "udp://127.0.0.1:\(port)", "--fps", "100", "--loop", "2", "--ssrc", "77"]
        + ["--no-rtcp", "--initial-sequence", "65500", "--srtp-key-file", suite.keyFile()])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    try receiver.waitForExit()
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
  }

  @Test("a bad network, a wrap, a key that has its name", arguments: Suite.all)
  func impaired(_ suite: Suite) throws {
    let key = try suite.keyFile(identifier: "01")
    let (sender, address) = try CommandTests.server([
      "--frames", "60", "--srtp-key-file", key, "--reorder", "0.1,5", "--duplicate", "0.05",
      "--initial-sequence", "65510", "--seed", "5",
    ])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "-o", output, "--stats", "-", "--srtp-key-file", key]
        + RepairTests.patience)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(Set(try FFmpeg.frameHashes(of: output)).count == 60)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] == 0)
    #expect(statistics["transport", "srtp", "replayed"] > 0)
    #expect(statistics["transport", "srtp", "authentication_failed"] == 0)
  }

  @Test("a stream that has run for long", arguments: [nil, "3"] as [String?])
  func lateJoin(_ given: String?) throws {
    let key = try Suite.all[0].keyFile()
    let (sender, address) = try CommandTests.server([
      "--frames", "40", "--srtp-key-file", key, "--srtp-roc", "3",
    ])
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "--stats", "-", "--srtp-key-file", key]
        + (given.map { ["--srtp-roc", $0] } ?? []))
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["delivery", "frames"] == 40)
    #expect(statistics["transport", "srtp", "rollovers_found"] == 1)
  }

  // MARK: Keys stay secret

  /// Nor does a message about what goes wrong have any of it.
  @Test(
    "a key is in no output, whatever is wrong",
    arguments: [
      ("wrong key", 10, "could not be authenticated"), ("short key", 64, "together 44"),
      ("others can read it", 64, "chmod 600 /"), ("no suite", 64, "unknown suite"),
      ("weak", 64, "--srtp-allow-weak"), ("plain RTP", 10, "authentic"),
    ])
  func failures(_ scenario: String, _ status: Int32, _ message: String) throws {
    let suite = Suite.all[0]
    let canary = suite.key(42)
    let text = canary.base64EncodedString()
    var path = try suite.keyFile(42)
    var senderKey = try ["--srtp-key-file", suite.keyFile(43)]
    func rewrite(_ line: String) throws {
      try Data(line.utf8).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
    switch scenario {
    case "short key": try rewrite("AEAD_AES_256_GCM \(text)\n")
    case "others can read it":
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    case "no suite": try rewrite(text)
    case "weak": try rewrite("NULL_HMAC_SHA1_80 \(text)\n")
    case "plain RTP": senderKey = []
    default: path = try suite.keyFile(42)
    }
    let port = try FreePort.udpPair()
    let sender = try RunningProcess(
      Product.rtpSend,
      CommandTests.pattern + ["udp://127.0.0.1:\(port)", "--loop", "forever"] + senderKey)
    // Only the timeout ends what cannot be trusted, and packets have to come before it does.
    try PassingStream.waitForDatagram(on: port)
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:\(port)", "--srtp-key-file", path, "--stats", "-", "--verbose"]
        + ["--timeout", "1.5"])
    #expect(try receiver.waitForExit() == status, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let said = receiver.standardError + String(decoding: receiver.standardOutput, as: UTF8.self)
    #expect(said.contains(message), "\(said)")
    for secret in [text, Self.hexadecimal(canary), String(text.prefix(12))] {
      #expect(!said.contains(secret))
    }
  }

  enum Way: String, CaseIterable, Sendable { case file, environment }

  /// Neither in memory, but for what libsrtp computed from it, nor where `ps` looks.
  @Test("a key is not to be found in the running program", arguments: Way.allCases)
  func memory(_ way: Way) throws {
    let suite = Suite.all[0]
    let key = suite.key(44)
    let path = try suite.keyFile(44)
    let (sender, address) = try CommandTests.server([
      "--loop", "forever", "--srtp-key-file", path,
    ])
    defer { sender.send(signal: SIGTERM) }
    let line = "\(suite.name) \(key.base64EncodedString())"
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "--verbose"] + (way == .file ? ["--srtp-key-file", path] : []),
      environment: way == .environment ? ["RTP_RECV_SRTP_KEY": line] : [:])
    _ = try receiver.waitForLine(#/pictures are 256x144/#)
    let folder = "/proc/\(receiver.processIdentifier)"
    for name in ["cmdline", "environ"] {
      guard let content = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
        continue
      }
      #expect(content.range(of: Data(key.base64EncodedString().utf8)) == nil, "\(name)")
    }
    let limits = try String(contentsOfFile: "\(folder)/limits", encoding: .utf8)
    #expect(limits.contains(#/Max core file size\s+0\s+0/#))
    // Root may look anyway; nobody else can, which is the point.
    let memory = open("\(folder)/mem", O_RDONLY)
    guard memory >= 0 else { return }
    defer { close(memory) }
    let secrets = [Data(key.base64EncodedString().utf8), key, key.prefix(16)]
    var hasFoundControl = false
    // Foundation ends at the first short read, and this file gives no others.
    let maps = try RunningProcess.output(of: "cat", ["\(folder)/maps"])
    for region in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
      guard let match = region.firstMatch(of: #/^([0-9a-f]+)-([0-9a-f]+) rw/#),
        let first = UInt64(match.1, radix: 16), let last = UInt64(match.2, radix: 16)
      else { continue }
      var start = first
      while start < last {
        // Portions overlap, so that nothing hides between two.
        var bytes = Data(count: Int(min(last - start, 1 << 20)))
        let count = bytes.withUnsafeMutableBytes {
          pread(memory, $0.baseAddress, $0.count, off_t(start))
        }
        if count > 0 {
          if bytes.prefix(count).range(of: Data(address.utf8)) != nil { hasFoundControl = true }
          for secret in secrets where bytes.prefix(count).range(of: secret) != nil {
            Issue.record(
              "\(secret.count) bytes of the key at \(String(start, radix: 16)): \(region)")
          }
        }
        guard last - start > 1 << 20 else { break }
        start += 1 << 20 - 64
      }
    }
    // What is there is found: the source was typed.
    #expect(hasFoundControl)
    receiver.send(signal: SIGTERM)
    #expect(try receiver.waitForExit() == 0)
  }

  // MARK: Descriptions

  @Test("the key in a description", arguments: [0o600, 0o644], [false, true])
  func description(_ mode: Int, _ isAllowed: Bool) throws {
    let suite = Suite.all[0]
    let clip = try Clip.of(.h264)
    let port = try FreePort.udpPair()
    let path = try Scratch.path("sdp")
    // As FFmpeg writes it: RTP/AVP, with a key.
    let description =
      "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
      + "m=video \(port) RTP/SAVP 96\r\na=rtpmap:96 H264/90000\r\n"
      + "a=crypto:1 \(suite.name) inline:\(suite.key(3).base64EncodedString())\r\n"
    _ = FileManager.default.createFile(
      atPath: path, contents: Data(description.utf8), attributes: [.posixPermissions: mode])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [path, "-o", output, "--frames", "\(clip.frames)", "--timeout", "20"]
        + (isAllowed ? ["--allow-insecure-sdes"] : []))
    guard isAllowed || mode == 0o600 else {
      #expect(try receiver.waitForExit() == 10)
      #expect(receiver.standardError.contains("--allow-insecure-sdes"))
      #expect(!receiver.standardError.contains(suite.key(3).base64EncodedString()))
      return
    }
    _ = try receiver.waitForLine(#/listening on/#)
    let sender = try RunningProcess(
      Product.rtpSend,
      [clip.path, "udp://127.0.0.1:\(port)", "--fps", "100", "--srtp-key-file", suite.keyFile(3)])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
  }
}

import Foundation
import TestSupport
import Testing

/// `rtp-recv rtsp://…` against the RTSP servers of GStreamer and VLC: the frames are FFmpeg's.
@Suite(.serialized)
struct RTSPServerTests {
  enum Login: String, CaseIterable, Sendable { case none, basic, digest }

  struct Case: Sendable, CustomTestStringConvertible {
    var codec: Clip.Codec
    var transport: String
    var login = Login.none

    var testDescription: String { "\(codec.rawValue) \(transport), login \(login.rawValue)" }
  }

  static let cases =
    Clip.Codec.allCases.flatMap { codec in
      ["tcp", "udp", "auto", "http"].map { Case(codec: codec, transport: $0) }
    } + [
      Case(codec: .h264, transport: "tcp", login: .basic),
      Case(codec: .h264, transport: "udp", login: .digest),
      Case(codec: .h265, transport: "tcp", login: .digest),
      Case(codec: .h264, transport: "http", login: .digest),
    ]

  @Test("GStreamer's server, every frame from the first on", arguments: cases)
  func gstreamer(_ test: Case) throws {
    let clip = try Clip.of(test.codec)
    let isOpen = test.login == .none
    let server = try GStreamerServer(clip, isOpen ? [] : ["--auth", test.login.rawValue])
    let user = isOpen ? "" : "\(GStreamerServer.user):\(GStreamerServer.password)@"
    let (receiver, output) = try Self.receive(
      server.url(user: user), ["--rtsp-transport", test.transport])
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] == 0)
    let said = receiver.standardError + String(decoding: receiver.standardOutput, as: UTF8.self)
    #expect(!said.contains(GStreamerServer.password))
  }

  /// The clip's last pictures come out of the decoder only when nothing more goes in.
  @Test func asManyFramesAsTheStreamHas() throws {
    let server = try GStreamerServer(Clip.h264.get())
    let (receiver, output) = try Self.receive(server.url(), ["--frames", "300"])
    #expect(try FFmpeg.frameHashes(of: output) == Clip.h264.get().hashes)
    let said = String(decoding: receiver.standardOutput, as: UTF8.self)
    #expect(said.contains(#""end":"frames_reached""#), "\(said.suffix(300))")
  }

  @Test("a chosen stream that is no video says where to look, and what takes sound")
  func soundFirst() throws {
    let server = try GStreamerServer(Clip.h264.get(), ["--sound-first"])
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url(), "--stream", "0", "-o", Scratch.path("y4m")])
    #expect(try receiver.waitForExit() == 9, "\(receiver.standardError)")
    #expect(
      receiver.standardError.contains(
        "audio (PCMU); --list shows all streams, and -o NAME.wav takes sound"),
      "\(receiver.standardError)")
    // GStreamer may send one packet and no more of sound beside pictures that nobody set up.
    let ours = try RTSPSendTests.Server(
      [("pattern", "live")], ["--audio", "pcmu"] + RTSPSendTests.small)
    let other = try RunningProcess(
      Product.rtpRecv,
      [ours.url("live"), "--stream", "1", "-o", Scratch.path("wav"), "--duration", "1s"])
    #expect(try other.waitForExit() == 0, "\(other.standardError)")
    #expect(try ours.stop() == 0)
  }

  @Test("a server that offers one way only", arguments: ["tcp", "udp"])
  func oneWayOnly(protocol way: String) throws {
    let server = try GStreamerServer(Clip.h264.get(), ["--protocol", way])
    let (receiver, output) = try withoutKernelDrops {
      try Self.receive(server.url(), ["--rtsp-transport", "auto"])
    }
    #expect(
      try FFmpeg.frameHashes(of: output) == Clip.h264.get().hashes, "\(receiver.standardError)")
  }

  @Test(
    "GStreamer to a multicast group", .enabled(if: NeighbouringMachine.works),
    arguments: Clip.Codec.allCases)
  func multicast(codec: Clip.Codec) throws {
    let clip = try Clip.of(codec)
    let machine = try NeighbouringMachine()
    let server = try GStreamerServer(clip, ["--protocol", "multicast"], on: machine)
    let (_, output) = try Self.receive(
      server.url(), ["--rtsp-transport", "multicast", "--interface", machine.interface])
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
  }

  /// Frames of the first server up to where it was killed, and all of the second one's.
  @Test("a server that is killed and started again", arguments: ["tcp", "udp"])
  func restart(transport: String) throws {
    let clip = try Clip.h264.get()
    var server = try GStreamerServer(clip, ["--dies-after", "100"])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url(), "--rtsp-transport", transport, "--reconnect", "-o", output, "--stats", "-"])
    try server.process.waitForExit()
    // It serves nobody after its first client, so that nothing follows however late the signal is.
    server = try GStreamerServer(clip, ["--port", "\(server.port)", "--once"])
    try server.process.waitForExit()
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let hashes = try FFmpeg.frameHashes(of: output)
    let second = try #require(hashes.lastIndex(of: clip.hashes[0]))
    #expect(Array(hashes[second...]) == clip.hashes)
    // The picture on its way when the server was killed came in part, and the three B pictures that
    // are shown before it did not all come.
    let first = hashes[..<second]
    let exact = zip(first, clip.hashes).prefix { $0 == $1 }.count
    #expect(exact > 10)
    #expect(first.count - exact <= 4)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["connection", "reconnects"] == 1)
    #expect(statistics["rtp", "lost"] == 0)
  }

  @Test(
    "a wrong password is not tried again and again, and not shown", arguments: ["basic", "digest"])
  func wrongPassword(login: String) throws {
    let server = try GStreamerServer(Clip.h264.get(), ["--auth", login])
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url(user: "viewer:canary-wrong@"), "-o", "-", "--format", "y4m"])
    #expect(try receiver.waitForExit() != 0)
    #expect(receiver.standardError.contains("password"), "\(receiver.standardError)")
    #expect(!receiver.standardError.contains("canary-wrong"))
  }

  @Test(
    "TLS with a certificate that is verified", arguments: ["--tls-ca", "--tls-pin"],
    ["auto", "http"])
  func verifiedServer(option: String, transport: String) throws {
    let certificates = try Certificates.shared.get()
    let server = try GStreamerServer(
      Clip.h264.get(), ["--certificate", certificates.good, "--key", certificates.key])
    let proof =
      option == "--tls-ca"
      ? certificates.authority : try Certificates.fingerprint(of: certificates.good)
    let (_, output) = try Self.receive(
      server.url(scheme: "rtsps"), [option, proof, "--rtsp-transport", transport])
    #expect(try FFmpeg.frameHashes(of: output) == Clip.h264.get().hashes)
  }

  @Test(
    "TLS with a certificate that proves nothing is refused",
    arguments: ["unknown authority", "another host", "expired", "another pin"])
  func unverifiedServer(fault: String) throws {
    let certificates = try Certificates.shared.get()
    let certificate =
      switch fault {
      case "another host": certificates.otherHost
      case "expired": certificates.expired
      default: certificates.good
      }
    let server = try GStreamerServer(
      Clip.h264.get(), ["--certificate", certificate, "--key", certificates.key])
    let options =
      switch fault {
      case "unknown authority": [String]()
      case "another pin": ["--tls-pin", try Certificates.fingerprint(of: certificates.expired)]
      default: ["--tls-ca", certificates.authority]
      }
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url(scheme: "rtsps"), "-o", "-", "--format", "y4m"] + options)
    #expect(try receiver.waitForExit() != 0)
    #expect(receiver.standardOutput.isEmpty)
    #expect(receiver.standardError.contains("certificate"), "\(receiver.standardError)")
  }

  @Test func aMachineWithoutAuthoritiesIsSaidToBeOne() throws {
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtsps://127.0.0.1:9/", "-o", "-", "--format", "y4m"],
      environment: ["SSL_CERT_FILE": "/nowhere", "SSL_CERT_DIR": "/nowhere:/nowhere/else"])
    #expect(try receiver.waitForExit() != 0)
    #expect(receiver.standardError.contains("ca-certificates"), "\(receiver.standardError)")
  }

  @Test func tlsWithoutVerificationSaysSo() throws {
    let certificates = try Certificates.shared.get()
    let server = try GStreamerServer(
      Clip.h264.get(), ["--certificate", certificates.expired, "--key", certificates.key])
    let (receiver, output) = try Self.receive(server.url(scheme: "rtsps"), ["--tls-insecure"])
    #expect(try FFmpeg.frameHashes(of: output) == Clip.h264.get().hashes)
    #expect(receiver.standardError.contains("--tls-insecure"), "\(receiver.standardError)")
  }

  @Test(
    "VLC, which plays whether anybody watches or not: a piece of the clip, whole",
    arguments: Clip.Codec.allCases)
  func vlc(codec: Clip.Codec) throws {
    try Self.expectPiece(of: Clip.of(codec), "auto") { try VLCServer($0).url }
  }

  @Test(
    "VLC to a multicast group, whose answer to SETUP does not say 'multicast'",
    .enabled(if: Multicast.works), arguments: Clip.Codec.allCases)
  func vlcMulticast(codec: Clip.Codec) throws {
    try Self.expectPiece(of: Clip.of(codec), "multicast") {
      try VLCServer($0, group: "239.255.42.\(codec == .h264 ? 1 : 2)").url
    }
  }

  @Test func vlcDoesNotSendInTheConnection() throws {
    let server = try VLCServer(Clip.h264.get())
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url, "--rtsp-transport", "tcp", "-o", "-", "--format", "y4m"])
    #expect(try receiver.waitForExit() != 0)
    #expect(receiver.standardError.contains("--rtsp-transport"), "\(receiver.standardError)")
  }

  /// Receives a stream to its end; returns the ended receiver and its output.
  static func receive(
    _ url: String, _ options: [String]
  ) throws -> (RunningProcess, String) {
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, [url, "-o", output, "--stats", "-", "--timeout", "20"] + options)
    try receiver.waitForExit()
    #expect(FileManager.default.fileExists(atPath: output), "\(receiver.standardError)")
    return (receiver, output)
  }

  /// Expects sixty pictures of the clip, with no gap that is not a reported loss, from wherever VLC
  /// is by then: the next key picture may be three seconds away.
  private static func expectPiece(
    of clip: Clip, _ transport: String, from start: (Clip) throws -> String
  ) throws {
    let (receiver, output) = try receive(
      start(clip), ["--rtsp-transport", transport, "--frames", "60", "--on-loss", "skip"])
    let hashes = try FFmpeg.frameHashes(of: output)
    #expect(hashes.count == 60, "\(receiver.standardError)")
    let places = try hashes.map { try #require(clip.hashes.firstIndex(of: $0)) }
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["transport", "kernel_dropped"] == 0)
    let gaps = zip(places, places.dropFirst()).filter { $0 + 1 != $1 }
    // On a busy machine VLC loses packets of its own, and what they cost is skipped.
    #expect(gaps.allSatisfy { $0 < $1 }, "\(receiver.standardError)")
    #expect(gaps.isEmpty || statistics["rtp", "lost"] > 0, "\(receiver.standardError)")
  }
}

/// Whether this machine can send to a group and receive it.
enum Multicast {
  static let works: Bool = {
    let probe = """
      import socket, struct
      taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      taker.bind(('', 0)); taker.settimeout(1)
      group = socket.inet_aton('239.255.42.9')
      taker.setsockopt(0, socket.IP_ADD_MEMBERSHIP, group + struct.pack('=I', 0))
      giver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      giver.sendto(b'x', ('239.255.42.9', taker.getsockname()[1])); taker.recv(1)
      """
    let process = try? RunningProcess("/usr/bin/python3", ["-c", probe])
    return (try? process?.waitForExit()) == 0
  }()
}

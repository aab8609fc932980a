import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Servers whose description contains the key of their media (RFC 4568 in RFC 2326).
@Suite("SRTP with its key from DESCRIBE")
struct SRTPOverRTSPTests {
  /// A server of protected media: profile, lines of `a=crypto`, and a context that has sent
  /// nothing.
  private func server(
    profile: String = "RTP/SAVP", crypto: String?, sender: ProtectingSender,
    tls: TLSContext? = nil, refuses method: String? = nil
  ) async throws -> RTSPFarEnd {
    let description =
      "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=control:*\r\n"
      + "m=video 0 \(profile) 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n"
      + (crypto.map { "a=crypto:\($0)\r\n" } ?? "")
    let packets = try (0..<100).map { try sender.protect(rtp($0, payload: 500)) }
    let report = try sender.protect(senderReport(), isControl: true)
    var script = RTSPFarEnd.Script()
    script.answer = { request in
      if request.method == method { return "RTSP/1.0 404 Not Found\r\nCSeq: CSEQ\r\n\r\n" }
      guard request.method == "DESCRIBE" else { return nil }
      return "RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nContent-Type: application/sdp\r\n"
        + "Content-Length: \(description.utf8.count)\r\n\r\n" + description
    }
    script.played = { peer in
      // Forged packets, and genuine ones.
      peer.send(frames: (0..<10).map { rtp($0, payload: 500) })
      peer.send(frames: packets)
      peer.send(frame: report, onChannel: 1)
    }
    return try await RTSPFarEnd("127.0.0.1", script, tls: tls)
  }

  private static let key = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"
  private static let crypto = "1 AES_CM_128_HMAC_SHA1_80 inline:\(key)|2^20|1:4"

  private func sender() throws -> ProtectingSender {
    let bytes = unhex("00108310518720928b30d38f41149351559761969b71d79f8218a39259a7")
    return try ProtectingSender(
      SRTPKeyMaterial(
        suite: .aesCM128SHA1Tag80, keyAndSalt: bytes.span.bytes, identifier: [0, 0, 0, 1]))
  }

  @Test(
    "is played, encrypted or allowed to be read",
    arguments: ["RTP/SAVP", "RTP/SAVPF", "RTP/AVP"], [true, false])
  func played(_ profile: String, _ isSecure: Bool) async throws {
    let sender = try sender()
    let server = try await server(
      profile: profile, crypto: Self.crypto, sender: sender,
      tls: isSecure ? TestCertificates.server("server") : nil)
    let scheme = isSecure ? "rtsps" : "rtsp"
    let transport = try RTSPTransport("\(scheme)://127.0.0.1:\(server.port)/stream") {
      $0.tls.acceptsAnything = true
      $0.protection.allowsInsecureSDES = !isSecure
    }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let datagrams = try await sink.datagrams.first(101)
    #expect(datagrams.map(\.bytes) == (0..<100).map { rtp($0, payload: 500) } + [senderReport()])
    let setUp = try #require(server.requests.elements.first { $0.method == "SETUP" })
    #expect(setUp.headers["transport"]?.hasPrefix("\(profile)/TCP;") == true)
    let counters = await transport.counters()
    #expect(counters.srtp?.authenticated == 101)
    #expect(counters.srtp?.dropped == 10)
    #expect(counters.delivered == 101)

    transport.sendFeedback(senderReport(ssrc: 9), track: 0)
    let feedback = try await server.frames.first(1)[0]
    var farEnd = try SRTPSession(sender.key)
    #expect(farEnd.take(feedback.bytes, isControl: true) == .passed(senderReport(ssrc: 9)))
    transport.close()
    _ = try await sink.ends.first(1)
    try await server.close()
  }

  @Test(
    "is not played without that",
    arguments: [
      (crypto, SRTPError.exposedKey("the connection is not encrypted")),
      (nil, .keyMissing(profile: "RTP/SAVP")), ("1 NEW inline:x", .description(.unknownSuite)),
    ] as [(String?, SRTPError)])
  func refused(_ crypto: String?, _ error: SRTPError) async throws {
    let server = try await server(crypto: crypto, sender: sender())
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    await #expect(throws: error) { try await transport.open(delivering: sink) }
    #expect(sink.datagrams.elements.isEmpty)
    #expect(!server.requests.elements.contains { $0.method == "PLAY" })
    transport.close()
    try await server.close()
  }

  /// The sink may hold the transport, as that of a receiver does.
  @Test("lets go of its sink where the server refuses what follows")
  func refusedLater() async throws {
    let server = try await server(crypto: Self.crypto, sender: sender(), refuses: "SETUP")
    let transport = try RTSPTransport(server.url) { $0.protection.allowsInsecureSDES = true }
    let held = await WeakSink(refusedBy: transport)
    try await eventually("the sink is let go of") { held.sink == nil }
    #expect(await transport.counters().srtp != nil)
    try await server.close()
  }

  @Test("leaves a key that the user gives the last word")
  func ownKey() async throws {
    let sender = try ProtectingSender(srtpKey())
    let server = try await server(crypto: nil, sender: sender)
    let transport = SRTPTransport(
      wrapping: try RTSPTransport(server.url), SRTPConfiguration(keys: .fixed([sender.key])))
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(100).map(\.bytes).last == rtp(99, payload: 500))
    transport.close()
    _ = try await sink.ends.first(1)
    try await server.close()
  }
}

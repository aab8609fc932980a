import COpenSSL
import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Sessions in TLS, and what keeps them from beginning.
struct RTSPTransportTLSTests {
  /// Opens a session, takes its first packet, and closes it.
  private func play(
    _ server: RTSPFarEnd, host: String = "127.0.0.1",
    configure: (inout TLSConfiguration) -> Void
  ) async throws {
    let transport = try RTSPTransport("rtsps://\(host):\(server.port)/stream", .automatic) {
      configure(&$0.tls)
    }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(1)[0].bytes == rtp(1, payload: 1388))
    #expect(await transport.counters().carriage == .tcp)
    transport.close()
    _ = try await server.closed.first(1)
  }

  private func server(
    _ context: TLSContext, on host: String = "127.0.0.1"
  ) async throws -> RTSPFarEnd {
    var script = RTSPFarEnd.Script()
    script.played = { $0.send(frame: rtp(1, payload: 1388)) }
    return try await RTSPFarEnd(host, script, tls: context)
  }

  @Test(arguments: ["127.0.0.1", "[::1]", "localhost"])
  func aCertificateOfAKnownAuthorityIsAcceptedForItsNamesAndAddresses(host: String) async throws {
    let server = try await server(
      TestCertificates.server("server"), on: host == "[::1]" ? "::1" : "127.0.0.1")
    try await play(server, host: host) { $0.authorities = TestCertificates.path("authority") }
    try await server.close()
  }

  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func bothVersionsAreSpoken(version: CInt) async throws {
    let server = try await server(
      TestCertificates.server("server") {
        #expect(copenssl_set_versions($0, version, version) == 1)
      })
    try await play(server) { $0.authorities = TestCertificates.path("authority") }
    try await server.close()
  }

  @Test func aPinDecidesAlone() async throws {
    let pin = try TestCertificates.certificate("expired").fingerprint
    let server = try await server(TestCertificates.server("expired"))
    try await play(server) { $0.pin = pin }
    let other = try RTSPTransport("rtsps://127.0.0.1:\(server.port)/") {
      $0.tls.pin = [UInt8](repeating: 1, count: 32)
      // The one does not weaken the other.
      $0.tls.acceptsAnything = true
    }
    await #expect(throws: TLSError.otherCertificate(fingerprint: pin.hexadecimal)) {
      try await other.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    try await server.close()
  }

  @Test(arguments: ["selfsigned", "expired", "elsewhere"])
  func anythingIsAcceptedOnlyIfAskedForAndSaysSo(name: String) async throws {
    let server = try await server(TestCertificates.server(name))
    let transport = try RTSPTransport("rtsps://127.0.0.1:\(server.port)/") {
      $0.tls.acceptsAnything = true
    }
    try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    #expect(await transport.counters().diagnostics.contains { $0.words.contains("not verified") })
    transport.close()
    try await server.close()
  }

  @Test(arguments: [
    ("selfsigned", "127.0.0.1", "authority", "untrusted"),
    ("server", "127.0.0.1", nil, "untrusted"),
    ("expired", "127.0.0.1", "authority", "expired"),
    ("elsewhere", "127.0.0.1", "authority", "wrong host"),
    ("elsewhere", "localhost", "authority", "wrong host"),
    ("unnamed", "localhost", "authority", "no names"),
  ])
  func aCertificateThatIsNotRightIsRefusedWithTheReason(
    name: String, host: String, authority: String?, expected: String
  ) async throws {
    let server = try await server(TestCertificates.server(name))
    let transport = try RTSPTransport("rtsps://\(host):\(server.port)/") {
      $0.tls.authorities = authority.map(TestCertificates.path)
    }
    let error = await #expect(throws: TLSError.self) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    switch (error, expected) {
    case (.untrusted(host, let fingerprint), "untrusted"):
      #expect(fingerprint?.utf8.count == 64)
    case (.certificateExpired(host, let days), "expired"): #expect(try #require(days) > 365)
    case (.wrongHost(host), "wrong host"): break
    case (.withoutNames(host), "no names"): break
    default: Issue.record("\(String(describing: error))")
    }
    #expect(server.requests.elements.isEmpty, "nothing is said to a server that is not trusted")
    try await server.close()
  }

  @Test func aSelfSignedCertificateCanBeItsOwnAuthority() async throws {
    let server = try await server(TestCertificates.server("selfsigned"))
    try await play(server, host: "localhost") {
      $0.authorities = TestCertificates.path("selfsigned")
    }
    try await server.close()
  }

  @Test(arguments: [true, false], [TLS1_2_VERSION, TLS1_3_VERSION])
  func aServerThatWantsACertificateGetsIt(given: Bool, version: CInt) async throws {
    let server = try await server(
      TestCertificates.server("server") {
        TestCertificates.wantClientCertificate($0)
        #expect(copenssl_set_versions($0, TLS1_2_VERSION, version) == 1)
      })
    if given {
      try await play(server) {
        $0.authorities = TestCertificates.path("authority")
        $0.clientCertificate = TestCertificates.path("client")
      }
    } else {
      let transport = try RTSPTransport("rtsps://127.0.0.1:\(server.port)/") {
        $0.tls.authorities = TestCertificates.path("authority")
      }
      // Before TLS 1.3 there was no alert for it.
      let expected =
        version == TLS1_2_VERSION ? TLSError.handshakeRefused : .clientCertificateWanted
      await #expect(throws: expected) {
        try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
      }
    }
    try await server.close()
  }

  @Test func aServerOfAnOldVersionIsRefused() async throws {
    let server = try await server(
      TestCertificates.server("server") {
        // OpenSSL has the old versions at this level only.
        SSL_CTX_set_security_level($0, 0)
        #expect(copenssl_set_versions($0, TLS1_VERSION, TLS1_1_VERSION) == 1)
      })
    let transport = try RTSPTransport("rtsps://127.0.0.1:\(server.port)/")
    await #expect(throws: TLSError.protocolTooOld) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    try await server.close()
  }

  @Test(arguments: [
    ("RTSP/1.0 400 Bad Request\r\n\r\n", TLSError.notEncrypted),
    ("HTTP/1.1 400 Bad Request\r\n\r\n", .notEncrypted),
    ("", .closedInHandshake),
  ])
  func whatIsNotTLSIsNamed(answer: String, expected: TLSError) async throws {
    var script = RTSPFarEnd.Script()
    script.accepted = { channel in
      channel.eventLoop.execute {
        channel.writeAndFlush(ByteBuffer(string: answer)).whenComplete { _ in
          if answer.isEmpty { channel.close(promise: nil) }
        }
      }
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport("rtsps://127.0.0.1:\(server.port)/")
    await #expect(throws: expected) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    try await server.close()
  }

  @Test func aServerThatSaysNothingIsWaitedForNoLongerThanTheDeadline() async throws {
    var script = RTSPFarEnd.Script()
    script.accepted = { _ in }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport("rtsps://127.0.0.1:\(server.port)/")
    await #expect(throws: TLSError.handshakeTimedOut(seconds: 10)) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    try await server.close()
  }

  @Test(arguments: ["nowhere", "make.sh"])
  func aFileThatHoldsNoCertificateIsNamed(name: String) async throws {
    let path = (Bundle.module.resourcePath ?? "") + "/Certificates/" + name
    for key in [\TLSConfiguration.authorities, \.clientCertificate] {
      let transport = try RTSPTransport("rtsps://127.0.0.1:9/") { $0.tls[keyPath: key] = path }
      await #expect(throws: TLSError.fileUnusable(path: path)) {
        try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
      }
    }
  }

  @Test func aKeyOfAnotherCertificateIsRefused() async throws {
    let transport = try RTSPTransport("rtsps://127.0.0.1:9/") {
      $0.tls.clientCertificate = TestCertificates.path("client")
      $0.tls.clientKey = TestCertificates.path("server")
    }
    await #expect(throws: TLSError.keyMismatch) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
  }
}

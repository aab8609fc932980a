import COpenSSL
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Passwords, redirects and certificates: who gets the password, and who is trusted.
struct HTTPLoginTests {
  private static let packets = (0..<3).map { rtp($0, payload: 100) }
  private static let stream: ByteBuffer = {
    var bytes = ByteBuffer(string: streamHead)
    bytes.writeImmutableBuffer(chunked(framed(packets), [1000]))
    return bytes
  }()

  private static func challenge(_ words: String...) -> ByteBuffer {
    ByteBuffer(
      string: "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
        + words.map { "WWW-Authenticate: \($0)\r\n" }.joined() + "\r\n")
  }

  private static func redirect(to location: String) -> ByteBuffer {
    ByteBuffer(
      string: "HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 5\r\n\r\nthere")
  }

  private func open(_ transport: HTTPTransport) async throws {
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(3).map(\.bytes) == Self.packets)
    _ = try await sink.ends.first(1)
  }

  private static let offers: [(name: String, challenges: [String], scheme: String?, warns: Bool)] =
    [
      ("Basic alone", [#"Basic realm="x""#], "Basic", true),
      ("Digest", [#"Digest realm="x", nonce="abc", qop="auth""#], "Digest", false),
      (
        "SHA-256", [#"Digest realm="x", nonce="abc", qop="auth", algorithm=SHA-256"#], "Digest",
        false
      ),
      ("both", [#"Basic realm="x""#, #"Digest realm="x", nonce="abc""#], "Digest", false),
      ("something else", ["Negotiate"], nil, false),
    ]

  @Test(arguments: offers)
  func theSafestLoginThatIsOfferedIsTaken(
    row: (name: String, challenges: [String], scheme: String?, warns: Bool)
  ) async throws {
    let challenge = ByteBuffer(
      string: "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
        + row.challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined() + "\r\n")
    let server = try await HTTPFarEnd { request in
      let isKnown = request.headers["authorization"] != nil
      request.peer.writeAndFlush(isKnown ? Self.stream : challenge, promise: nil)
    }
    let transport = try HTTPTransport(
      "http://us%65r:pass%20word@127.0.0.1:\(server.port)/stream")
    guard let scheme = row.scheme else {
      await #expect(throws: HTTPError.credentialsRefused) { try await open(transport) }
      return try await server.close()
    }
    try await open(transport)
    let logins = server.requests.elements.map { $0.headers["authorization"] }
    #expect(logins.count == 2)
    #expect(logins[0] == nil, "nothing is sent before it is asked for")
    let login = try #require(logins[1])
    #expect(login.hasPrefix(scheme + " "))
    if scheme == "Basic" {
      #expect(login == "Basic " + Data("user:pass word".utf8).base64EncodedString())
    } else {
      #expect(!login.contains("pass"))
    }
    let counters = await transport.counters()
    #expect(counters.hasUsedDigest == (scheme == "Digest"))
    #expect(
      counters.diagnostics.contains { $0.isWarning && $0.words.hasPrefix("the password") }
        == row.warns)
    try await server.close()
  }

  @Test func aPasswordThatIsRefusedIsTriedOnce() async throws {
    let server = try await HTTPFarEnd { request in
      request.peer.writeAndFlush(
        Self.challenge(#"Digest realm="x", nonce="\#(request.headers.count)""#), promise: nil)
    }
    let transport = try HTTPTransport("http://user:wrong@127.0.0.1:\(server.port)/")
    await #expect(throws: HTTPError.credentialsRefused) { try await open(transport) }
    #expect(server.requests.elements.count == 2)
    try await server.close()
  }

  @Test func whoeverHasAskedForADigestIsNotGivenThePasswordLater() async throws {
    let server = try await HTTPFarEnd { request in
      let isKnown = request.headers["authorization"] != nil
      request.peer.writeAndFlush(
        isKnown ? Self.stream : Self.challenge(#"Basic realm="x""#), promise: nil)
    }
    let transport = try HTTPTransport("http://user:word@127.0.0.1:\(server.port)/") {
      $0.allowsBasic = false
    }
    await #expect(throws: HTTPError.credentialsRefused) { try await open(transport) }
    #expect(server.requests.elements.allSatisfy { $0.headers["authorization"] == nil })
    try await server.close()
  }

  // MARK: - Redirects

  @Test func aRedirectIsFollowedWithThePasswordOnTheSameServerAlone() async throws {
    let other = try await HTTPFarEnd { request in
      request.peer.writeAndFlush(Self.stream, promise: nil)
    }
    let server = try await HTTPFarEnd { request in
      let isKnown = request.headers["authorization"] != nil
      switch request.path {
      case "/": request.peer.writeAndFlush(Self.redirect(to: "/inside"), promise: nil)
      case _ where !isKnown:
        request.peer.writeAndFlush(Self.challenge(#"Basic realm="x""#), promise: nil)
      default: request.peer.writeAndFlush(Self.redirect(to: other.url), promise: nil)
      }
    }
    let transport = try HTTPTransport("http://user:word@127.0.0.1:\(server.port)/")
    try await open(transport)
    #expect(server.requests.elements.map(\.path) == ["/", "/inside", "/inside"])
    let headers = try #require(other.requests.elements.first?.headers)
    #expect(Set(headers.keys) == ["host", "user-agent", "accept", "connection"])
    #expect(
      await transport.counters().diagnostics.filter { $0.words.hasPrefix("redirected to") }.count
        == 2)
    try await server.close()
    try await other.close()
  }

  @Test func aServerThatWasRedirectedToGetsNoPassword() async throws {
    let other = try await HTTPFarEnd { request in
      request.peer.writeAndFlush(Self.challenge(#"Basic realm="x""#), promise: nil)
    }
    let server = try await HTTPFarEnd { request in
      request.peer.writeAndFlush(Self.redirect(to: other.url), promise: nil)
    }
    let transport = try HTTPTransport("http://user:word@127.0.0.1:\(server.port)/")
    await #expect(throws: HTTPError.credentialsNotForwarded(to: other.url)) {
      try await open(transport)
    }
    #expect(other.requests.elements.allSatisfy { $0.headers["authorization"] == nil })
    try await server.close()
    try await other.close()
  }

  @Test(arguments: [
    "file:///etc/passwd", "gopher://127.0.0.1/", "rtsp://127.0.0.1/", "ftp://127.0.0.1/x",
    "http://", "http://[::1/",
  ])
  func aRedirectToAnythingElseIsRefused(location: String) async throws {
    let server = try await HTTPFarEnd { request in
      request.peer.writeAndFlush(Self.redirect(to: location), promise: nil)
    }
    let error = await #expect(throws: HTTPError.self) {
      try await open(HTTPTransport(server.url))
    }
    switch error {
    case .redirectRefused, .refused(302, _): break
    default: Issue.record("\(String(describing: error))")
    }
    #expect(server.requests.elements.count == 1)
    try await server.close()
  }

  @Test(arguments: [("/a", 2), ("/?COUNT", 4)])
  func redirectsInCirclesAndWithoutEndAreGivenUp(location: String, requests: Int) async throws {
    let count = Record<Void>()
    let server = try await HTTPFarEnd { request in
      count.append(())
      let location = location.replacing("COUNT", with: "\(count.elements.count)")
      request.peer.writeAndFlush(Self.redirect(to: location), promise: nil)
    }
    await #expect(throws: HTTPError.redirectedTooOften(limit: 3)) {
      try await open(HTTPTransport(server.url))
    }
    #expect(server.requests.elements.count == requests)
    try await server.close()
  }

  @Test(arguments: [
    "127.0.0.1", "169.254.169.254", "::1", "fe80::1", "0.0.0.0", "::ffff:127.0.0.1",
  ])
  func addressesOfThisMachineAreKnown(address: String) {
    #expect(ServerURL.isConfined(address))
  }

  // MARK: - TLS

  private func server(
    _ name: String, configure: (OpaquePointer) -> Void = { _ in }
  ) async throws -> HTTPFarEnd {
    try await HTTPFarEnd(tls: TestCertificates.server(name, configure: configure)) { request in
      request.peer.writeAndFlush(Self.stream, promise: nil)
    }
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func aCertificateOfAKnownAuthorityIsAccepted(host: String) async throws {
    let server = try await server("server")
    try await open(
      HTTPTransport("https://\(host):\(server.port)/") {
        $0.tls.authorities = TestCertificates.path("authority")
      })
    try await server.close()
  }

  private static let distrust:
    [(certificate: String, host: String, authority: String?, error: TLSError)] = [
      ("server", "127.0.0.1", nil, .untrusted(host: "127.0.0.1", fingerprint: nil)),
      ("selfsigned", "127.0.0.1", nil, .untrusted(host: "127.0.0.1", fingerprint: nil)),
      (
        "expired", "127.0.0.1", "authority", .certificateExpired(host: "127.0.0.1", days: nil)
      ),
      ("elsewhere", "127.0.0.1", "authority", .wrongHost("127.0.0.1")),
    ]

  @Test(arguments: distrust)
  func nothingIsSaidToAServerThatIsNotTrusted(
    row: (certificate: String, host: String, authority: String?, error: TLSError)
  ) async throws {
    let server = try await server(row.certificate)
    let transport = try HTTPTransport("https://user:word@\(row.host):\(server.port)/") {
      $0.tls.authorities = row.authority.map(TestCertificates.path)
    }
    var expected = row.error
    if case .untrusted(let host, nil) = expected {
      // What --tls-pin takes.
      let certificate = try TestCertificates.certificate(row.certificate)
      expected = .untrusted(host: host, fingerprint: certificate.fingerprint.hexadecimal)
    }
    await #expect(throws: expected) { try await open(transport) }
    #expect(server.requests.elements.isEmpty)
    try await server.close()
  }

  @Test func aPinnedCertificateAloneDecides() async throws {
    let server = try await server("selfsigned")
    let pin = try TestCertificates.certificate("selfsigned").fingerprint
    let url = "https://127.0.0.1:\(server.port)/"
    try await open(HTTPTransport(url) { $0.tls.pin = pin })
    let before = server.requests.elements.count
    await #expect(throws: TLSError.otherCertificate(fingerprint: pin.hexadecimal)) {
      try await open(HTTPTransport(url) { $0.tls.pin = [UInt8](repeating: 1, count: 32) })
    }
    #expect(server.requests.elements.count == before)
    try await server.close()
  }

  @Test func anythingIsAcceptedWhereThatIsWanted() async throws {
    let server = try await server("expired")
    let transport = try HTTPTransport("https://127.0.0.1:\(server.port)/") {
      $0.tls.acceptsAnything = true
    }
    try await open(transport)
    #expect(await transport.counters().diagnostics.first?.words.contains("--tls-insecure") == true)
    try await server.close()
  }

  @Test func aClientShowsItsCertificate() async throws {
    let server = try await server("server", configure: TestCertificates.wantClientCertificate)
    let url = "https://127.0.0.1:\(server.port)/"
    try await open(
      HTTPTransport(url) {
        $0.tls.authorities = TestCertificates.path("authority")
        $0.tls.clientCertificate = TestCertificates.path("client")
      })
    await #expect(throws: TLSError.clientCertificateWanted) {
      try await open(HTTPTransport(url) { $0.tls.authorities = TestCertificates.path("authority") })
    }
    try await server.close()
  }

  @Test func aServerThatIsNotTrustedSeesNoCertificateOfTheClient() async throws {
    // It asks for a certificate, and takes any.
    let server = try await server("server") {
      SSL_CTX_set_verify($0, SSL_VERIFY_PEER) { _, _ in 1 }
    }
    let url = "https://127.0.0.1:\(server.port)/"
    let certificate = try TestCertificates.certificate("server")
    let expected = TLSError.untrusted(
      host: "127.0.0.1", fingerprint: certificate.fingerprint.hexadecimal)
    await #expect(throws: expected) {
      try await open(
        HTTPTransport(url) { $0.tls.clientCertificate = TestCertificates.path("client") })
    }
    // The second connection named the certificate.
    _ = try await server.closed.first(2)
    #expect(server.shownCertificates.elements.isEmpty)
    #expect(server.requests.elements.isEmpty)
    try await open(
      HTTPTransport(url) {
        $0.tls.authorities = TestCertificates.path("authority")
        $0.tls.clientCertificate = TestCertificates.path("client")
      })
    #expect(server.shownCertificates.elements.count == 1)
    try await server.close()
  }

  @Test func aCertificateThatCannotBeReadIsStillSaidNotToBeTrusted() throws {
    var request = HTTPTransfer.Request(
      url: try ServerURL(parsing: "https://127.0.0.1/", as: .http), credentials: nil,
      configuration: HTTPConfiguration(), sockets: UDPTransport.SocketConfiguration(),
      staysOutside: false)
    request.isInspection = true
    let transfer = try HTTPTransfer(request) { _ in }
    let objection = HTTPCertificate.objection(on: transfer)
    #expect(objection == .untrusted(host: "127.0.0.1", fingerprint: nil))
  }

  @Test func aServerWithoutTLSIsSaidToBeOne() async throws {
    let server = try await HTTPFarEnd("HTTP/1.1 400 Bad Request\r\n\r\n")
    await #expect(throws: TLSError.notEncrypted) {
      try await open(HTTPTransport("https://127.0.0.1:\(server.port)/"))
    }
    try await server.close()
  }

  @Test(arguments: ["authority", "client"])
  func aFileThatIsNotThereIsNamed(kind: String) async throws {
    let server = try await server("server")
    await #expect(throws: TLSError.fileUnusable(path: "/no/such.pem")) {
      try await open(
        HTTPTransport("https://127.0.0.1:\(server.port)/") {
          if kind == "authority" { $0.tls.authorities = "/no/such.pem" }
          if kind == "client" { $0.tls.clientCertificate = "/no/such.pem" }
        })
    }
    try await server.close()
  }
}

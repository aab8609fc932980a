import COpenSSL
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Transports

/// Both ends of TLS in memory.
struct TLSSessionTests {
  private let client: TLSSession
  private let server: TLSSession

  init() throws {
    (client, server) = try Self.ends(TestCertificates.path("selfsigned"), host: "localhost")
  }

  /// A client that trusts nothing but the server's certificate.
  private static func ends(
    _ certificate: String, host: String
  ) throws -> (client: TLSSession, server: TLSSession) {
    var configuration = TLSConfiguration()
    configuration.authorities = certificate
    return (
      try TLSSession(TLSContext(configuration), .client(of: host)),
      try TLSSession(TLSContext(certificates: certificate, key: certificate), .server)
    )
  }

  /// What one end has to say, given to the other in pieces of this size.
  private static func carry(
    from sender: TLSSession, to receiver: TLSSession, pieces: Int = .max
  ) throws {
    var bytes = sender.takeOutput(ByteBufferAllocator()) ?? ByteBuffer()
    while let piece = bytes.readSlice(length: min(pieces, bytes.readableBytes)),
      piece.readableBytes > 0
    {
      try receiver.receive(piece)
    }
  }

  private static func shakeHands(_ client: TLSSession, _ server: TLSSession) throws {
    // Three flights, and one look more.
    for _ in 0..<4 {
      let isDone = try client.handshake() == nil
      try carry(from: client, to: server)
      if try server.handshake() == nil, isDone { return }
      try carry(from: server, to: client)
    }
    Issue.record("the handshake has no end")
  }

  @Test(
    "what a name in a certificate stands for",
    arguments: [
      (
        "camera.example", ["camera.example", "CAMERA.Example", "camera.example."], ["other.example"]
      ),
      ("Camera.Example", ["camera.example"], []),
      ("*.example.com", ["camera.example.com"], ["a.b.example.com", "example.com"]),
      ("*", [], ["camera", "camera.example"]),
      ("*.com", [], ["example.com"]),
      ("cam*.example.com", [], ["camera.example.com"]),
      // A name that is an address is still a name.
      ("192.0.2.1", [], ["192.0.2.1"]),
    ])
  func names(pattern: String, right: [String], wrong: [String]) throws {
    let path = try Scratch.path("name.pem")
    _ = try RunningProcess.output(
      of: "openssl",
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-keyout", path + ".key", "-out", path, "-days", "2"]
        // The common name decides nothing.
        + ["-subj", "/CN=\(wrong.first ?? "other.example")"]
        + ["-addext", "subjectAltName=DNS:\(pattern)"])
    let key = try String(contentsOfFile: path + ".key", encoding: .utf8)
    try (String(contentsOfFile: path, encoding: .utf8) + key)
      .write(toFile: path, atomically: true, encoding: .utf8)
    for host in right {
      let (client, server) = try Self.ends(path, host: host)
      try Self.shakeHands(client, server)
    }
    for host in wrong {
      let (client, server) = try Self.ends(path, host: host)
      let fault = #expect(throws: TLSSession.Fault.self) { try Self.shakeHands(client, server) }
      #expect(fault.map { TLSError($0, host: host) } == .wrongHost(host))
    }
  }

  @Test("bytes arrive whole, however they are cut", arguments: [1, 7, 1000, .max])
  func bytes(pieces: Int) throws {
    try Self.shakeHands(client, server)
    for length in [1, 100, 16_384, 16_385, 200_000] {
      let sent = ByteBuffer(bytes: (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      try server.write(sent)
      try Self.carry(from: server, to: client, pieces: pieces)
      var received = ByteBuffer()
      guard case .needsInput = try client.read(into: &received) else {
        Issue.record("closed")
        return
      }
      #expect(received == sent)
    }
  }

  @Test func aGoodbyeIsHeardAfterWhatWasSaid() throws {
    try Self.shakeHands(client, server)
    try server.write(ByteBuffer(string: "last"))
    server.sayGoodbye()
    try Self.carry(from: server, to: client)
    var received = ByteBuffer()
    guard case .closed = try client.read(into: &received) else {
      Issue.record("not closed")
      return
    }
    #expect(received == ByteBuffer(string: "last"))
  }

  @Test func aChangedByteIsRefused() throws {
    try Self.shakeHands(client, server)
    try server.write(ByteBuffer(string: "genuine"))
    var bytes = try #require(server.takeOutput(ByteBufferAllocator()))
    let last = bytes.writerIndex - 1
    bytes.setInteger(bytes.getInteger(at: last, as: UInt8.self)! ^ 1, at: last)
    try client.receive(bytes)
    var received = ByteBuffer()
    #expect(throws: TLSSession.Fault.self) { try client.read(into: &received) }
    #expect(received.readableBytes == 0)
  }

  @Test("a camera with RSA key exchange alone (AES128-SHA)")
  func oldCiphers() throws {
    let path = try Scratch.path("old.pem")
    _ = try RunningProcess.output(
      of: "openssl",
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path + ".key", "-out", path]
        + ["-days", "2", "-subj", "/CN=camera", "-addext", "subjectAltName=DNS:camera"])
    var configuration = TLSConfiguration()
    configuration.authorities = path
    let old = try TLSContext(certificates: path, key: path + ".key")
    #expect(copenssl_set_versions(old.handle, TLS1_2_VERSION, TLS1_2_VERSION) == 1)
    #expect(SSL_CTX_set_cipher_list(old.handle, "AES128-SHA") == 1)
    let client = try TLSSession(TLSContext(configuration), .client(of: "camera"))
    try Self.shakeHands(client, try TLSSession(old, .server))
  }

  @Test("a pin that is no whole SHA-256 fits nothing", arguments: [0, 31, 32, 33])
  func pinOfLength(length: Int) throws {
    let path = TestCertificates.path("selfsigned")
    var configuration = TLSConfiguration()
    configuration.pin = Array(
      (try TestCertificates.certificate("selfsigned").fingerprint + [0]).prefix(length))
    let client = try TLSSession(TLSContext(configuration), .client(of: "camera"))
    let server = try TLSSession(TLSContext(certificates: path, key: path), .server)
    if length == 32 {
      try Self.shakeHands(client, server)
    } else {
      #expect(throws: TLSSession.Fault.self) { try Self.shakeHands(client, server) }
    }
  }

  @Test("a key of 1024 bits is for those who pin it", arguments: [true, false])
  func weakKey(isPinned: Bool) throws {
    let path = try Scratch.path("weak.pem")
    _ = try RunningProcess.output(
      of: "openssl",
      ["req", "-x509", "-newkey", "rsa:1024", "-nodes", "-keyout", path + ".key", "-out", path]
        + ["-days", "2", "-subj", "/CN=camera", "-addext", "subjectAltName=DNS:camera"])
    let certificate = try #require(
      TLSCertificate(pem: String(contentsOfFile: path, encoding: .utf8)))
    var configuration = TLSConfiguration()
    if isPinned {
      configuration.pin = certificate.fingerprint
    } else {
      configuration.authorities = path
    }
    let client = try TLSSession(TLSContext(configuration), .client(of: "camera"))
    let server = try TLSSession(
      TLSContext(certificates: path, key: path + ".key"), .server)
    if isPinned {
      try Self.shakeHands(client, server)
    } else {
      let fault = #expect(throws: TLSSession.Fault.self) { try Self.shakeHands(client, server) }
      #expect(fault.map { TLSError($0, host: "camera") } == .weakCertificate(host: "camera"))
    }
  }
}

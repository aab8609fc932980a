import COpenSSL
import Foundation
import Testing

@testable import Transports

/// The certificates of the tests, by the names of their files.
enum TestCertificates {
  static func path(_ name: String) -> String {
    (Bundle.module.resourcePath ?? "") + "/Certificates/\(name).pem"
  }

  static func certificate(_ name: String) throws -> TLSCertificate {
    try #require(TLSCertificate(pem: try String(contentsOfFile: path(name), encoding: .utf8)))
  }

  /// The server's side of TLS; `configure` gets OpenSSL's `SSL_CTX`.
  static func server(
    _ name: String, configure: (OpaquePointer) -> Void = { _ in }
  ) throws -> TLSContext {
    let context = try TLSContext(certificates: path(name), key: path(name))
    configure(context.handle)
    return context
  }

  /// Makes a server want a certificate of the tests' authority.
  static func wantClientCertificate(_ context: OpaquePointer) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    SSL_CTX_load_verify_file(context, path("authority"))
  }
}

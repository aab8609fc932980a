import COpenSSL
import Testing

@testable import Transports

struct TLSErrorTests {
  @Test(
    "libcurl's words mean what the code says that they quote",
    arguments: [
      (SSL_R_WRONG_VERSION_NUMBER, TLSError?.some(.notEncrypted)),
      (SSL_R_HTTP_REQUEST, .notEncrypted), (SSL_R_PACKET_LENGTH_TOO_LONG, .notEncrypted),
      (SSL_R_UNSUPPORTED_PROTOCOL, .protocolTooOld),
      (SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, .protocolTooOld),
      (SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, .clientCertificateWanted),
      (SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, .clientCertificateWanted),
      (SSL_R_TLSV1_ALERT_UNKNOWN_CA, .clientCertificateWanted),
      (SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, .handshakeRefused), (SSL_R_NO_SHARED_CIPHER, nil),
    ])
  func quotation(reason: CInt, meaning: TLSError?) {
    var text = [CChar](repeating: 0, count: 256)
    let code = UInt(ERR_LIB_SSL) << UInt(ERR_LIB_OFFSET) | UInt(reason)
    ERR_error_string_n(code, &text, text.count)
    let words = String(
      decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #expect(TLSError(quotedIn: words) == meaning)
    #expect(TLSError(quotedIn: "OpenSSL SSL_read: OpenSSL/3.0.19: \(words), errno 0") == meaning)
  }

  @Test(
    "words without such a code mean nothing",
    arguments: [
      "", ":", "error", "error:", "error:0A00010", "error:0A00010BB:",
      "wrong version number", "0A00010B:SSL routines::wrong version number",
      // The same reason of another library, and a code of the system.
      "error:0900010B:PEM routines::reason(267)", "error:8000010B:system library::",
      "error:FFFFFFFF:", "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to 192.0.2.1:443",
    ])
  func noQuotation(words: String) { #expect(TLSError(quotedIn: words) == nil) }
}

internal import COpenSSL

/// A login in the header of a SOAP message, which proves the password without containing it
/// (WS-Security UsernameToken Profile 1.0 §3.1).
struct UsernameToken: Sendable {
  let credentials: Credentials
  /// Fresh random bytes, so that no two tokens are the same.
  let nonce: [UInt8]
  /// By the clock of the device, which refuses tokens that are minutes old.
  let created: UTCTime

  /// The header; `nil` only if OpenSSL is not allowed to compute SHA-1.
  var header: String? {
    guard let digest else { return nil }
    let base = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-"
    return #"<w:Security xmlns:w="\#(base)wssecurity-secext-1.0.xsd" "#
      + #"xmlns:u="\#(base)wssecurity-utility-1.0.xsd"><w:UsernameToken>"#
      + "<w:Username>\(credentials.user.escapedForXML)</w:Username>"
      + #"<w:Password Type="\#(base)username-token-profile-1.0#PasswordDigest">"#
      + "\(Self.text(digest))</w:Password>"
      + #"<w:Nonce EncodingType="\#(base)soap-message-security-1.0#Base64Binary">"#
      + "\(Self.text(nonce))</w:Nonce><u:Created>\(created)</u:Created>"
      + "</w:UsernameToken></w:Security>"
  }

  /// SHA-1 of nonce, time and password.
  private var digest: [UInt8]? {
    let input = nonce + Array("\(created)".utf8) + Array(credentials.password.utf8)
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    let isDone = unsafe EVP_Digest(input, input.count, &digest, &count, EVP_sha1(), nil)
    return isDone == 1 ? Array(digest.prefix(Int(count))) : nil
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes.base64, as: UTF8.self)
  }
}

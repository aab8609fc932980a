import BlockingIO
import Glibc
public import Transports

/// With what a server of NATS is logged in to: what the environment says, under the names that the
/// command `nats` has too.
public struct NATSLogin: Sendable {
  /// A user name and a password, of the environment or of the source.
  var user: Credentials?
  var token: String?
  /// A file with a JWT and the seed of its key.
  var credentialsFile: String?
  /// A file of certificates that are trusted; without it, the system's are.
  var authorities: String?
  /// The files of a certificate of this side and of its key.
  var certificate: (chain: String, key: String)?

  /// Bytes that a password or a token may have.
  private static let longestSecret = 1024

  /// Reads NATS_CREDS, NATS_USER, NATS_PASSWORD, NATS_TOKEN, NATS_CA, NATS_CERT and NATS_KEY;
  /// NATS_PASSWORD_FILE and NATS_TOKEN_FILE name files instead.
  ///
  /// - Parameter configured: a login that comes before that of the environment.
  /// - Throws: ``JetStreamError/unreadable(path:reason:)``.
  public init(configured: Credentials? = nil) throws(JetStreamError) {
    credentialsFile = Self.value(of: "NATS_CREDS")
    token = try Self.secret("NATS_TOKEN")
    let password = try Self.secret("NATS_PASSWORD") ?? ""
    user =
      configured ?? Self.value(of: "NATS_USER").map { Credentials(user: $0, password: password) }
    authorities = Self.value(of: "NATS_CA")
    if let chain = Self.value(of: "NATS_CERT"), let key = Self.value(of: "NATS_KEY") {
      certificate = (chain, key)
    }
    for path in [credentialsFile, authorities, certificate?.chain, certificate?.key] {
      guard let path, unsafe access(path, R_OK) != 0 else { continue }
      throw .unreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
  }

  private static func secret(_ name: String) throws(JetStreamError) -> String? {
    if let value = value(of: name) { return value }
    guard let path = value(of: name + "_FILE") else { return nil }
    do throws(ShortFile.Failure) {
      let file = try ShortFile(at: path, limit: longestSecret, firstLineOnly: true)
      return String(decoding: file.bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    } catch { throw .unreadable(path: path, reason: error.reason) }
  }

  /// `nil` where it is not set, or empty.
  private static func value(of name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }
}

import BlockingIO
import Glibc
import Synchronization
import Transports

/// With what a server of NATS is logged in to: what the environment says, under the names that the
/// command `nats` has too.
///
/// Its description has no secrets.
public struct NATSLogin: Sendable, CustomStringConvertible, CustomReflectable {
  /// A user name and a password.
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
  /// What was in the environment, where nobody finds it any more.
  private static let taken = Mutex<[String: String]>([:])

  /// Reads NATS_CREDS, NATS_USER, NATS_PASSWORD, NATS_TOKEN, NATS_CA, NATS_CERT and NATS_KEY;
  /// NATS_PASSWORD_FILE and NATS_TOKEN_FILE name files instead.
  ///
  /// Files with secrets must be such that nobody else can read them, and the variables with secrets
  /// are removed from the environment.
  ///
  /// - Throws: ``JetStreamError/unreadable(path:reason:)``, or
  ///   ``JetStreamError/readableByOthers(path:)``.
  public init() throws(JetStreamError) {
    credentialsFile = Self.value(of: "NATS_CREDS")
    token = try Self.secret("NATS_TOKEN")
    let password = try Self.secret("NATS_PASSWORD") ?? ""
    user = Self.value(of: "NATS_USER").map { Credentials(user: $0, password: password) }
    authorities = Self.value(of: "NATS_CA")
    if let chain = Self.value(of: "NATS_CERT"), let key = Self.value(of: "NATS_KEY") {
      certificate = (chain, key)
    }
    for path in [authorities, certificate?.chain] {
      guard let path, unsafe access(path, R_OK) != 0 else { continue }
      throw .unreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    for path in [credentialsFile, certificate?.key] {
      guard let path else { continue }
      do throws(Secret.Failure) { try Secret.check(path) } catch { throw Self.error(error, path) }
    }
    if user != nil || token != nil || credentialsFile != nil || certificate != nil {
      Secret.forbidCoreDumps()
    }
  }

  public var description: String { "(login)" }
  public var customMirror: Mirror { Mirror(self, children: []) }

  private static func secret(_ name: String) throws(JetStreamError) -> String? {
    let value = taken.withLock { taken in
      if let value = Secret.takeFromEnvironment(name) { taken[name] = value }
      return taken[name]
    }
    if let value, !value.isEmpty { return value }
    guard let path = self.value(of: name + "_FILE") else { return nil }
    do throws(Secret.Failure) {
      return try Secret.firstLine(of: path, limit: longestSecret)
    } catch { throw Self.error(error, path) }
  }

  private static func error(_ failure: Secret.Failure, _ path: String) -> JetStreamError {
    switch failure {
    case .unreadable(let reason): .unreadable(path: path, reason: reason)
    case .readableByOthers: .readableByOthers(path: path)
    case .empty: .unreadable(path: path, reason: "its first line is empty")
    }
  }

  /// `nil` where it is not set, or empty.
  private static func value(of name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }
}

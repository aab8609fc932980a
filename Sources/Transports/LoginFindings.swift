/// What a server shows of how it checks passwords, for all transports with a login.
struct LoginFindings: TransportFinding, Hashable {
  /// Whether it asked for a digest of the password (RFC 7616).
  var hasUsedDigest = false

  func joined(after earlier: LoginFindings) -> LoginFindings {
    LoginFindings(hasUsedDigest: hasUsedDigest || earlier.hasUsedDigest)
  }
}

extension TransportCounters {
  /// Whether the server asked for a digest of the password (RFC 7616).
  public var hasUsedDigest: Bool {
    get { self[finding: LoginFindings.self].hasUsedDigest }
    set { self[finding: LoginFindings.self].hasUsedDigest = newValue }
  }
}

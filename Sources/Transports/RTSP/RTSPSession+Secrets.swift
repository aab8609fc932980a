/// Keeps what a server was sent as a secret out of what is said of its answers.
extension RTSPSession {
  /// The error without a reason that repeats a secret: some servers and proxies answer with what
  /// they were asked, its Authorization field and the query of its URL included.
  func withoutSecrets(_ error: RTSPError) -> RTSPError {
    guard case .refused(let method, let status, let reason) = error, repeatsSecret(reason) else {
      return error
    }
    return .refused(method: method, status: status, reason: "")
  }

  private func repeatsSecret(_ reason: String) -> Bool {
    // Also a secret that only the server's own URLs have.
    if !SourceArgument.secrets(inPathOf: reason).isEmpty { return true }
    var secrets = credentials.map { [$0.password, $0.basic.withoutPadding] } ?? []
    for address in [origin, url] {
      for secret in SourceArgument.secrets(inPathOf: address.path) {
        secrets += [String(secret), String(secret).percentDecoded]
      }
    }
    // Bytes, because a character may go on behind the last one of a secret.
    return secrets.contains { !$0.isEmpty && reason.utf8.contains($0.utf8) }
  }
}

extension String {
  /// Base64 as some write it, without the `=` at its end.
  fileprivate var withoutPadding: String { String(prefix { $0 != "=" }) }
}

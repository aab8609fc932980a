internal import RTPWire

/// What a session has to do with the HTTP that may carry it.
extension RTSPSession {
  /// What opens the tunnel to the server, with the answer to the last challenge; `nil` without one.
  mutating func tunnel() -> HTTPTunnelRequests? {
    guard configuration.lowerTransport == .http else { return nil }
    let target = HTTPTunnelRequests.target(of: url)
    let get = authenticator.authorization(method: "GET", uri: target, attempts: &tunnelAttempts)
    // Both are one attempt.
    var attempts = tunnelAttempts
    let post = authenticator.authorization(method: "POST", uri: target, attempts: &attempts)
    if get != nil { noteRevealedPassword() }
    return HTTPTunnelRequests(to: url, getAuthorization: get, postAuthorization: post)
  }

  /// The server of the tunnel wants a login, and has closed the connection.
  mutating func tunnelChallenged(_ challenges: [AuthenticationChallenge], at now: Instant) {
    guard case .connecting = phase else { return }
    switch authenticator.consider(challenges, attempts: &tunnelAttempts) {
    case .retry: connect(at: now)
    case .refused(let error): refuseLogin(error, at: now)
    }
  }
}

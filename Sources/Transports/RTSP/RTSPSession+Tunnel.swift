internal import RTPWire

/// What a session has to do with the HTTP that may carry it.
extension RTSPSession {
  /// Whether the server can tell RTCP from requests, in HTTP.
  enum Feedback: Sendable {
    case unjudged
    /// None is sent until the answer to a keep-alive says whether it does harm.
    case held
    case misread
    case understood
  }

  /// What opens the tunnel to the server, with the answer to the last challenge; `nil` without one.
  mutating func tunnel() -> HTTPTunnelRequests? {
    guard configuration.lowerTransport == .http else { return nil }
    let target = HTTPTunnelRequests.target(of: url)
    let get = authenticator.authorization(
      method: "GET", uri: target, attempts: &connection.tunnelAttempts)
    // Both are one attempt.
    var attempts = connection.tunnelAttempts
    let post = authenticator.authorization(method: "POST", uri: target, attempts: &attempts)
    if get != nil { noteRevealedPassword() }
    return HTTPTunnelRequests(to: url, getAuthorization: get, postAuthorization: post)
  }

  /// Stops sending RTCP where a keep-alive in HTTP may be refused because of what came before it.
  ///
  /// live555 takes all that a POST brings for the text of requests, so that the one behind a report
  /// is of an unknown method. GStreamer's server wants reports there.
  ///
  /// - Returns: whether it stops now, so that the keep-alive may be tried again.
  mutating func stopFeedback(after refusal: RTSPResponse) -> Bool {
    guard configuration.lowerTransport == .http, [400, 405].contains(refusal.status) else {
      return false
    }
    switch server.feedback {
    case .unjudged:
      server.feedback = .held
      return true
    case .held:
      // It was refused without reports, too.
      server.feedback = .understood
      return false
    case .misread, .understood: return false
    }
  }

  /// Notes that the server has taken a keep-alive.
  mutating func keepAliveTaken() {
    guard server.feedback == .held else { return }
    server.feedback = .misread
    report(.feedbackMisread)
  }

  /// Whether RTCP goes to the server.
  var sendsFeedback: Bool {
    server.feedback == .unjudged || server.feedback == .understood
  }

  /// The server of the tunnel wants a login, and has closed the connection.
  mutating func tunnelChallenged(_ challenges: [AuthenticationChallenge], at now: Instant) {
    guard case .connecting = phase else { return }
    switch authenticator.consider(challenges, attempts: &connection.tunnelAttempts) {
    case .retry:
      connect(OnConnection(tunnelAttempts: connection.tunnelAttempts), at: now)
    case .refused(let error): refuseLogin(error, at: now)
    }
  }
}

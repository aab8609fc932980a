internal import RTPWire

/// What a session knows for no longer than a connection or a server lasts; everything else holds
/// for the whole session.
extension RTSPSession {
  /// What holds for one connection; ``connect(_:at:)`` replaces it.
  struct OnConnection: Sendable {
    /// Whether it leads to this machine or its link.
    var isInside = false
    /// What was tried to log in to the HTTP that carries the session.
    ///
    /// A server closes the connection with its challenge, so the next one takes this over.
    var tunnelAttempts = Authenticator.Attempts()
    /// What was tried to log in with the request behind which the server closed the connection
    /// before.
    ///
    /// It counts for the first request on this one, or a wrong password would be sent for ever.
    var formerAttempts: Authenticator.Attempts?
    /// Whether the server has answered anything.
    var hasBeenAnswered = false
    /// The URLs for PLAY and later requests, in the order in which they are tried.
    var aggregateURLs: [String] = []
    /// Whether the server has set up something that needs a TEARDOWN.
    var isSetUp = false
    /// The session's identifier that requests have, if the server gave one.
    var identifier: String?
    /// The first and the latest identifier that the server gave.
    var identifiers: (first: String, latest: String)?
    /// When the first SETUP is sent again, which was refused because of a session that was left.
    var setUpDue: Instant?
    /// When the selected stream last brought a packet.
    var lastMedia: Instant?
    /// Since when it has brought them without a long pause.
    var begun: Instant?

    /// Whether it has done so for a while.
    var isSteady: Bool {
      guard let begun, let lastMedia else { return false }
      return begun.duration(to: lastMedia) >= RTSPSession.steadyPlay
    }

    /// Notes a packet of the selected stream, which begins anew behind a pause longer than that.
    mutating func noteMedia(at now: Instant, longestPause: Duration?) {
      // All frames of a read have one time, and arithmetic on `Duration` takes long for each.
      if now == lastMedia { return }
      if let lastMedia, let longestPause, lastMedia.duration(to: now) > longestPause { begun = nil }
      begun = begun ?? now
      lastMedia = now
    }
  }

  /// What holds for one server, over all connections to it; ``redirect(to:at:)`` replaces it.
  struct OnServer: Sendable {
    var hasAskedOptions = false
    /// Which keep-alives it takes, and how often it wants them.
    var keepAlive: RTSPKeepAlive
    var feedback = Feedback.unjudged
    /// How often it was connected to anew during set-up.
    var reconnections = 0
    /// The streams, by their index in the description, whose SETUP it did not answer.
    var leftOut: Set<Int> = []
    /// Whether it may still have the session of a connection that was left.
    var hasFormerSession = false
    var takesRange = true

    init(_ configuration: RTSPConfiguration) {
      keepAlive = RTSPKeepAlive(avoiding: configuration.fatalKeepAlives)
    }
  }
}

import Transports

/// Finds out, ever more rarely, why a server was never reached, which libnats does not say.
struct FirstContact {
  private let address: StreamAddress
  private var pause = Duration.seconds(1)
  private var hasAsked = false

  /// The longest time from one question to the next, as from one attempt to connect to the next.
  private static let longestPause = Duration.seconds(30)

  init(_ address: StreamAddress) { self.address = address }

  /// Tells `answer` the reason, on an event loop.
  ///
  /// - Returns: how long to wait before it is asked again.
  mutating func ask(_ answer: @escaping @Sendable (_ reason: String) -> Void) -> Duration {
    ServerInquiry.ask(host: address.host, port: address.port) { [address, hasAsked] obstacle in
      if let obstacle { return answer("\(obstacle)") }
      // It may have come just now, and libnats will find it.
      guard hasAsked else { return }
      answer("\(address.endpoint) takes connections, but does not answer as NATS does")
    }
    hasAsked = true
    defer { pause = min(pause * 2, Self.longestPause) }
    return pause
  }
}

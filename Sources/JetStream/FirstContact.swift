import Synchronization
import Transports

/// Finds out, ever more rarely, why a server was never reached, which libnats does not say.
struct FirstContact {
  private let address: StreamAddress
  private var pause = Duration.seconds(1)
  private let successes = Successes()

  /// How often in a row the server took a connection.
  private final class Successes: Sendable {
    let count = Mutex(0)
  }

  /// The longest time from one question to the next, as from one attempt to connect to the next.
  private static let longestPause = Duration.seconds(30)

  init(_ address: StreamAddress) { self.address = address }

  /// Tells `answer` the reason, on an event loop.
  ///
  /// - Returns: how long to wait before it is asked again.
  mutating func ask(_ answer: @escaping @Sendable (_ reason: String) -> Void) -> Duration {
    ServerInquiry.ask(host: address.host, port: address.port) { [address, successes] obstacle in
      let count = successes.count.withLock { count in
        count = obstacle == nil ? count + 1 : 0
        return count
      }
      if let obstacle { return answer("\(obstacle)") }
      // It may have come just now, and libnats will find it.
      guard count > 1 else { return }
      answer("\(address.endpoint) takes connections, but does not answer as NATS does")
    }
    defer { pause = min(pause * 2, Self.longestPause) }
    return pause
  }
}

internal import RTPWire

/// When a server is told that its client is still there, and with which method.
///
/// No method is understood by all: RFC 2326 §10.8 means GET_PARAMETER for it, some cameras know
/// SET_PARAMETER or OPTIONS alone, and what `Public` lists is not always true. So the first of them
/// that is listed is used, and after a refusal the next, down to OPTIONS, which stays.
struct RTSPKeepAlive: Sendable {
  /// When the next one is to be sent; `nil` before the session plays.
  private(set) var due: Instant?

  /// What to send.
  var method: String { methods.first ?? Self.lastMethod }

  private var methods = Self.allMethods
  private var interval = Self.longestInterval

  /// Takes over what `Public` lists, if there is such a field (RFC 2326 §12.28).
  mutating func adopt(methods listed: String?) {
    guard let listed else { return }
    let names = listed.uppercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
    guard !names.isEmpty else { return }
    methods = Self.allMethods.filter { names.contains($0) || $0 == Self.lastMethod }
  }

  /// Takes over the session's timeout in seconds (§12.37).
  mutating func adopt(timeout: Int?) {
    guard let timeout, timeout > 0 else { return }
    let half = Duration.milliseconds(min(timeout, Self.longestTimeout) * 500)
    interval = max(Self.shortestInterval, min(half, Self.longestInterval))
  }

  /// Notes that a message went out that keeps the session alive, whatever it was for.
  mutating func sent(at now: Instant) { due = now.advanced(by: interval) }

  /// Notes that a server refused `method`; the next one is worth trying at once.
  mutating func refused(_ method: String, at now: Instant) {
    guard methods.count > 1, let index = methods.firstIndex(of: method) else { return }
    methods.remove(at: index)
    due = now
  }

  /// Sends no more.
  mutating func stop() { due = nil }

  private static let lastMethod = "OPTIONS"
  private static let allMethods = ["GET_PARAMETER", "SET_PARAMETER", lastMethod]
  /// Without a timeout a session ends after 60 s (§12.37); routers forget a connection after more.
  private static let longestInterval = Duration.seconds(30)
  /// A timeout of a second must not make a flood.
  private static let shortestInterval = Duration.milliseconds(500)
  /// Seconds beyond which a timeout changes nothing.
  private static let longestTimeout = 3600
}

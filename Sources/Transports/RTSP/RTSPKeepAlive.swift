internal import RTPWire

/// When to send a keep-alive to the server, and with which method.
///
/// No method works with all servers: RFC 2326 §10.8 intends GET_PARAMETER, some cameras know only
/// SET_PARAMETER or OPTIONS, and the list in `Public` is not always true. So the first listed
/// method is used, and after a refusal the next one, down to OPTIONS, which is kept. A server that
/// lists nothing gets OPTIONS first, as from FFmpeg, GStreamer, live555 and gortsplib: some close
/// the connection upon what they do not know.
struct RTSPKeepAlive: Sendable {
  /// When to send the next one while the session plays; `nil` when there is no method, and after
  /// ``stop()``.
  private(set) var due: Instant?

  /// The method to send; `nil` when there is none that may be used.
  var method: String? { methods.first }

  private var methods: [String]
  private let avoided: Set<String>
  private var interval = Self.longestInterval

  /// Makes one that never uses the methods of `avoided`.
  init(avoiding avoided: Set<String> = []) {
    self.avoided = avoided
    methods = Self.unlistedMethods.filter { !avoided.contains($0) }
  }

  /// Takes over the methods listed in `Public`, if that field is present (RFC 2326 §12.28).
  mutating func adopt(methods listed: String?) {
    guard let listed else { return }
    let names = listed.uppercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
    guard !names.isEmpty else { return }
    methods = Self.allMethods.filter {
      (names.contains($0) || $0 == Self.lastMethod) && !avoided.contains($0)
    }
  }

  /// Takes over the session's timeout in seconds (§12.37).
  mutating func adopt(timeout: Int?) {
    guard let timeout, timeout > 0 else { return }
    let half = Duration.milliseconds(min(timeout, Self.longestTimeout) * 500)
    interval = max(Self.shortestInterval, min(half, Self.longestInterval))
  }

  /// Records that a request was sent; any request keeps the session alive.
  mutating func sent(at now: Instant) {
    due = methods.isEmpty ? nil : now.advanced(by: interval)
  }

  /// Records that the server refused `method`; the next method is tried at once.
  mutating func refused(_ method: String, at now: Instant) {
    guard methods.count > 1, let index = methods.firstIndex(of: method) else { return }
    methods.remove(at: index)
    due = now
  }

  /// Stops sending keep-alives.
  mutating func stop() { due = nil }

  private static let lastMethod = "OPTIONS"
  private static let allMethods = ["GET_PARAMETER", "SET_PARAMETER", lastMethod]
  /// Those of a server that does not say what it knows.
  private static let unlistedMethods = ["OPTIONS", "GET_PARAMETER"]
  /// The default session timeout is 60 s (§12.37); routers keep idle connections for longer.
  private static let longestInterval = Duration.seconds(30)
  /// A timeout of one second must not cause a flood of requests.
  private static let shortestInterval = Duration.milliseconds(500)
  /// Seconds; a longer timeout makes no difference.
  private static let longestTimeout = 3600
}

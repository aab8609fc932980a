/// How long nothing may come: before the first media, between packets, from a server.
public enum SilenceLimit: TransportOption, Hashable {
  /// As long as is usual for what is waited for.
  case standard
  case after(Duration)
  /// For ever.
  case never

  public init() { self = .standard }

  /// The limit where `standard` is usual; `nil` waits forever.
  public func duration(standard: Duration?) -> Duration? {
    switch self {
    case .standard: standard
    case .after(let limit): limit
    case .never: nil
    }
  }
}

extension TransportOptions {
  /// How long a server that is asked for its stream may be silent, for all transports that ask one.
  public var silence: SilenceLimit {
    get { self[SilenceLimit.self] }
    set { self[SilenceLimit.self] = newValue }
  }
}

/// How long a server that is asked for its stream may be silent, for all transports that ask one.
public enum SilenceLimit: TransportOption, Hashable {
  /// As long as each transport has it.
  case own
  case after(Duration)
  case never

  public init() { self = .own }

  /// The limit for a transport with a limit of its own, which may be `nil` for none.
  func chosen(over own: Duration?) -> Duration? {
    switch self {
    case .own: own
    case .after(let limit): limit
    case .never: nil
    }
  }
}

extension TransportOptions {
  public var silence: SilenceLimit {
    get { self[SilenceLimit.self] }
    set { self[SilenceLimit.self] = newValue }
  }
}

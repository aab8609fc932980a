/// A user's choices about all transports: one value for each type of options.
///
/// A transport declares its options in its own folder and looks them up by type; the initial value
/// holds unless somebody sets another.
public struct TransportOptions: Sendable {
  private var values: [ObjectIdentifier: any TransportOption] = [:]

  public init() {}

  public subscript<Option: TransportOption>(type: Option.Type) -> Option {
    get { values[ObjectIdentifier(type)] as? Option ?? Option() }
    set { values[ObjectIdentifier(type)] = newValue }
  }
}

/// A user's choices about one transport, or about an aspect of several.
public protocol TransportOption: Sendable {
  /// The defaults.
  init()
}

/// What a user can choose about transports, of any kind: one value of each type of options.
///
/// A transport declares its options in its own folder, and asks for them by their type; what nobody
/// has set is as its type begins.
public struct TransportOptions: Sendable {
  private var values: [ObjectIdentifier: any TransportOption] = [:]

  public init() {}

  public subscript<Option: TransportOption>(type: Option.Type) -> Option {
    get { values[ObjectIdentifier(type)] as? Option ?? Option() }
    set { values[ObjectIdentifier(type)] = newValue }
  }
}

/// What a user can choose about one transport, or about one side of several.
public protocol TransportOption: Sendable {
  /// The choices as they are unless somebody makes others.
  init()
}

/// The login at a server, for all transports whose URLs may contain one.
public struct ServerLogin: TransportOption, Hashable {
  /// `nil` for none.
  public var credentials: Credentials?

  public init() {}
}

extension TransportOptions {
  /// The credentials for a transport whose own options and whose URL have none.
  public var credentials: Credentials? {
    get { self[ServerLogin.self].credentials }
    set { self[ServerLogin.self].credentials = newValue }
  }
}

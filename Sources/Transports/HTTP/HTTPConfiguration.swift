/// What a user can choose about HTTP progressive.
public struct HTTPConfiguration: TransportOption, Hashable {
  /// How long nothing of the stream may come; `nil` waits for ever.
  public var silence: Duration? = .seconds(5)
  /// The longest packet that is believed, in bytes; a greater length means that framing is lost.
  public var packetLimit = 65_535
  /// Used when the URL itself has none.
  public var credentials: Credentials?
  /// Whether the password may be sent in clear to a server that asks for that; false where one
  /// before has asked for a digest, so that nobody in between can ask for less.
  public var allowsBasic = true
  public var tls = TLSConfiguration()
  /// The URL of a proxy, as libcurl takes it; `nil` for none, whatever the environment says.
  public var proxy: String?

  /// How long headers may take, all rounds of a login together.
  var answerTime = Duration.seconds(10)

  public init() {}
}

extension TransportOptions {
  /// What concerns `http://` and `https://`.
  public var http: HTTPConfiguration {
    get { self[HTTPConfiguration.self] }
    set { self[HTTPConfiguration.self] = newValue }
  }
}

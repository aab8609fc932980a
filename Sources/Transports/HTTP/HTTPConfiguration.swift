/// The options of HTTP progressive.
public struct HTTPConfiguration: TransportOption, Hashable {
  /// How long the stream may be silent; `nil` waits forever.
  ///
  /// In a catalogue, ``TransportOptions/silence`` takes precedence.
  public var silence: Duration? = .seconds(5)
  /// The longest plausible packet, in bytes; a greater length means that framing is lost.
  public var packetLimit = 65_535
  /// The credentials to use when the URL contains none.
  public var credentials: Credentials?
  /// Whether the password may be sent in clear to a server that asks for that.
  ///
  /// False once the server has asked for a digest, so that nobody in between can ask for less.
  public var allowsBasic = true
  /// In a catalogue, the defaults stand for ``TransportOptions/tls``.
  public var tls = TLSConfiguration()
  /// The URL of a proxy in libcurl's form; `nil` for none, whatever the environment says.
  public var proxy: String?

  /// How long the headers may take, including all rounds of a login.
  var answerTime = Duration.seconds(10)

  public init() {}
}

extension TransportOptions {
  /// The options for `http://` and `https://`.
  public var http: HTTPConfiguration {
    get { self[HTTPConfiguration.self] }
    set { self[HTTPConfiguration.self] = newValue }
  }
}

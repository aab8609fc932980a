/// What a user can choose about RTSP.
public struct RTSPConfiguration: TransportOption, Hashable {
  /// How the media is to be carried.
  public enum Delivery: String, Sendable, Hashable, CaseIterable {
    /// Over UDP, or in the connection when nothing arrives that way; always in it with TLS.
    case automatic = "auto"
    /// Interleaved in the RTSP connection.
    case tcp
    case udp
    case multicast
  }

  /// Which of the described streams are played.
  public enum Selection: Sendable, Hashable {
    /// All of them; the first video is the one that must not fail.
    case everything
    /// The first video alone.
    case firstVideo
    /// Counted from 0 in the order of the description.
    case number(Int)
  }

  public var delivery = Delivery.automatic
  public var selection = Selection.everything
  /// Sets up all streams and discards those that are not selected: H264DVR recorders send no video
  /// over UDP before audio is set up.
  public var setsUpEverything = false
  /// How long nothing of the stream may come; `nil` waits for ever.
  public var silence: Duration? = .seconds(5)
  /// Used when the URL itself has none.
  public var credentials: Credentials?
  /// Whether the password may be sent in clear to a server that asks for that; false where one
  /// before has asked for a digest, so that nobody in between can ask for less.
  public var allowsBasic = true
  public var tls = TLSConfiguration()
  /// What is accepted of media whose keys are in the description.
  public var protection = SRTPOptions()

  public init() {}
}

extension TransportOptions {
  /// What concerns `rtsp://` and `rtsps://`.
  public var rtsp: RTSPConfiguration {
    get { self[RTSPConfiguration.self] }
    set { self[RTSPConfiguration.self] = newValue }
  }
}

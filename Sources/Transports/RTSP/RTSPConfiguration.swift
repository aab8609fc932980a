/// The options of RTSP.
public struct RTSPConfiguration: TransportOption, Hashable {
  /// What the media is to be carried by (RFC 2326 §12.39).
  public enum LowerTransport: String, Sendable, Hashable, CaseIterable {
    /// Over UDP, or in the connection when nothing arrives over UDP; always in the connection with
    /// TLS.
    case automatic = "auto"
    /// Interleaved in the RTSP connection.
    case tcp
    case udp
    case multicast
    /// Interleaved in RTSP that is itself in HTTP, as QuickTime, live555 and GStreamer have it; the
    /// port is 80, or 443 with TLS, unless the URL has another.
    case http
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

  public var lowerTransport = LowerTransport.automatic
  /// In a catalogue, ``MediaChoice/number`` chooses from everything.
  public var selection = Selection.everything
  /// Encoding names of sound, in upper case, that is played by itself where there is no video.
  ///
  /// In a catalogue, ``MediaChoice/soundEncodings`` takes precedence.
  public var soundEncodings: Set<String> = []
  /// Which format describes a stream that may come in several; what a catalogue was told of the
  /// media.
  var formats = MediaChoice()
  /// Sets up all streams and discards those that are not selected: H264DVR recorders send no video
  /// over UDP before audio is set up.
  ///
  /// In a catalogue, ``MediaChoice/wantsEverything`` sets it too.
  public var setsUpEverything = false
  /// How long the stream may be silent; `nil` waits forever.
  ///
  /// In a catalogue, ``TransportOptions/silence`` takes precedence. Without it, a connection that
  /// was given up too soon makes the next one of the same run wait longer, up to 40 s.
  public var silence: Duration? = .seconds(5)
  /// ``silence``, and the time for UDP where that is tried first.
  var longestSilence: Duration? {
    let attempt = lowerTransport == .automatic ? RTSPSession.udpPatience : .zero
    return silence.map { patient($0) + attempt }
  }
  /// How many earlier connections in a row were given up where a longer wait may have helped.
  var impatience = 0
  /// The credentials to use when the URL contains none.
  public var credentials: Credentials?
  /// The methods of keep-alives upon which the server closed earlier connections.
  var fatalKeepAlives: Set<String> = []
  /// Whether the password may be sent in clear to a server that asks for that.
  ///
  /// False once the server has asked for a digest, so that nobody in between can ask for less.
  public var allowsBasic = true
  /// In a catalogue, the defaults stand for ``TransportOptions/tls``.
  public var tls = TLSConfiguration()
  /// The options for media whose keys are in the description.
  ///
  /// In a catalogue, the defaults stand for ``TransportOptions/srtp``.
  public var protection = SRTPOptions()

  public init() {}

  /// A limit, twice as long for each connection that was given up too soon, up to 40 s.
  ///
  /// Some cameras begin to send 6 s after PLAY, some send a picture in 10 s, and Axis P1346 answers
  /// after up to 30 s.
  func patient(_ limit: Duration) -> Duration {
    max(limit, min(limit * (1 << min(impatience, 8)), .seconds(40)))
  }
}

extension TransportOptions {
  /// The options for `rtsp://` and `rtsps://`.
  public var rtsp: RTSPConfiguration {
    get { self[RTSPConfiguration.self] }
    set { self[RTSPConfiguration.self] = newValue }
  }
}

/// How a recording is replayed.
public struct ReplayConfiguration: TransportOption, Hashable {
  /// A multiple of the recorded pace, above 0; `nil` for as fast as possible.
  public var speed: Double?
  /// The RTP source to play; `nil` for the flow that looks like video.
  public var ssrc: UInt32?
  /// The port of the RTP to play, of either end.
  public var port: UInt16?
  /// The payload type of the RTP to play, 0 … 127.
  public var payloadType: UInt8?
  /// Payload types of its correction, retransmission or RED packets, under any SSRC.
  public var auxiliaryTypes: Set<UInt8> = []
  /// Whether the ports two and four above it carry correction packets (SMPTE ST 2022-1).
  public var takesCorrection = false
  /// The destination port of its retransmissions in a separate session (RFC 4588 §5.3).
  public var retransmissionPort: UInt16?
  /// The framing of a file of length-prefixed packets; `nil` if the file shows its format.
  public var framing: PacketFraming?
  /// What is said of the media from outside; for the payload types in it, it counts more than what
  /// the file says.
  public var description: SessionDescription?

  public init() {}

  var wish: FlowSurvey.Wish {
    FlowSurvey.Wish(
      ssrc: ssrc, port: port, payloadType: payloadType, auxiliaryTypes: auxiliaryTypes,
      takesCorrection: takesCorrection, retransmissionPort: retransmissionPort)
  }
}

extension TransportOptions {
  /// The options of recordings.
  public var replay: ReplayConfiguration {
    get { self[ReplayConfiguration.self] }
    set { self[ReplayConfiguration.self] = newValue }
  }
}

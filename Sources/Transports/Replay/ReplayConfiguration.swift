/// How a recording is replayed.
public struct ReplayConfiguration: TransportOption, Hashable {
  /// Times the recorded pace, above 0; `nil` is as fast as possible.
  public var speed: Double?
  /// The source of RTP to play; `nil` for the flow that looks like video.
  public var ssrc: UInt32?
  /// The port, of either end, that the RTP to play went by.
  public var port: UInt16?
  /// The payload type of the RTP to play, 0 … 127.
  public var payloadType: UInt8?
  /// The payload types of what corrects it or is put around it, under whatever SSRC.
  public var auxiliaryTypes: Set<UInt8> = []
  /// Whether what went by the ports two and four above it is correction packets (SMPTE ST 2022-1).
  public var takesCorrection = false
  /// The destination's port of what repeats it in a session of its own (RFC 4588 §5.3).
  public var retransmissionPort: UInt16?
  /// How packets are told apart in a file that holds them and their lengths alone; `nil` where the
  /// file says by itself what it is.
  public var framing: PacketFraming?

  public init() {}

  var wish: FlowSurvey.Wish {
    FlowSurvey.Wish(
      ssrc: ssrc, port: port, payloadType: payloadType, auxiliaryTypes: auxiliaryTypes,
      takesCorrection: takesCorrection, retransmissionPort: retransmissionPort)
  }
}

extension TransportOptions {
  /// What concerns recordings.
  public var replay: ReplayConfiguration {
    get { self[ReplayConfiguration.self] }
    set { self[ReplayConfiguration.self] = newValue }
  }
}

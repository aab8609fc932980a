/// What is known of a media stream before its first packet: usually one `m=` section of an SDP.
public struct MediaDescription: Sendable, Hashable {
  /// The clock rate of every video payload format this receiver knows (RFC 6184, RFC 7798).
  public static let videoClockRate: UInt32 = 90_000

  /// `video`, `audio`, `application` …, in lower case.
  public var kind: String
  /// The RTP payload type, 0 … 127, or `nil` when it is to be learned from the packets.
  public var payloadType: UInt8?
  /// The encoding name of `a=rtpmap`, such as `H264`, or `nil` when it is to be recognised.
  public var encodingName: String?
  /// Ticks a second, never 0.
  public var clockRate: UInt32
  /// The parameters of `a=fmtp`, keys in lower case, values as written.
  public var formatParameters: [String: String]

  public init(
    kind: String = "video", payloadType: UInt8? = nil, encodingName: String? = nil,
    clockRate: UInt32 = MediaDescription.videoClockRate, formatParameters: [String: String] = [:]
  ) {
    self.kind = kind
    self.payloadType = payloadType
    self.encodingName = encodingName
    self.clockRate = clockRate == 0 ? Self.videoClockRate : clockRate
    self.formatParameters = formatParameters
  }
}

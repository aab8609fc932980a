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
  /// The payload type of ULPFEC packets beside the media (RFC 5109), or `nil` without any.
  public var ulpfecPayloadType: UInt8?
  /// The payload type of RED packets, in which the others may come (RFC 2198), or `nil`.
  public var redundancyPayloadType: UInt8?

  public init(
    kind: String = "video", payloadType: UInt8? = nil, encodingName: String? = nil,
    clockRate: UInt32 = MediaDescription.videoClockRate, formatParameters: [String: String] = [:],
    ulpfecPayloadType: UInt8? = nil, redundancyPayloadType: UInt8? = nil
  ) {
    self.ulpfecPayloadType = ulpfecPayloadType
    self.redundancyPayloadType = redundancyPayloadType
    self.kind = kind
    self.payloadType = payloadType
    self.encodingName = encodingName
    self.clockRate = clockRate == 0 ? Self.videoClockRate : clockRate
    self.formatParameters = formatParameters
  }
}

extension MediaDescription {
  /// This description with what it leaves open taken from `other`.
  ///
  /// A payload type and an encoding name that are given stay; the parameters are taken along.
  public func completed(by other: MediaDescription) -> MediaDescription {
    var completed = other
    if let payloadType { completed.payloadType = payloadType }
    if let encodingName { completed.encodingName = encodingName }
    if clockRate != Self.videoClockRate { completed.clockRate = clockRate }
    if let ulpfecPayloadType { completed.ulpfecPayloadType = ulpfecPayloadType }
    if let redundancyPayloadType { completed.redundancyPayloadType = redundancyPayloadType }
    completed.formatParameters.merge(formatParameters) { _, own in own }
    return completed
  }
}

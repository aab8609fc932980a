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
  /// The payload types of correction packets beside the media.
  public var correctionFormats: [UInt8: CorrectionFormat]
  /// The payload type of RED packets, in which the others may come (RFC 2198), or `nil`.
  public var redundancyPayloadType: UInt8?
  /// Whether correction packets of SMPTE ST 2022-1 come on ports of their own, which no SDP says.
  public var hasMatrixCorrection = false

  public init(
    kind: String = "video", payloadType: UInt8? = nil, encodingName: String? = nil,
    clockRate: UInt32 = MediaDescription.videoClockRate, formatParameters: [String: String] = [:],
    correctionFormats: [UInt8: CorrectionFormat] = [:], redundancyPayloadType: UInt8? = nil
  ) {
    self.correctionFormats = correctionFormats
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
    completed.correctionFormats.merge(correctionFormats) { _, own in own }
    if let redundancyPayloadType { completed.redundancyPayloadType = redundancyPayloadType }
    if hasMatrixCorrection { completed.hasMatrixCorrection = true }
    completed.formatParameters.merge(formatParameters) { _, own in own }
    return completed
  }
}

/// How the packets of a stream are protected against loss; the raw value is the encoding name in SDP.
public enum CorrectionFormat: String, Sendable, Hashable, CaseIterable {
  /// RFC 5109, in the source and the numbering of the media, as GStreamer and libwebrtc send it.
  case ulpfec
  /// RFC 8627, in a source of its own.
  case flexfec
  /// The third draft of RFC 8627, whose header is another: what browsers speak.
  case flexfecDraft = "flexfec-03"

  /// Whether its packets take numbers among those of the media.
  public var isNumberedWithMedia: Bool { self == .ulpfec }
}

/// What is known of a media stream before its first packet: usually one `m=` section of an SDP.
public struct MediaDescription: Sendable, Hashable {
  /// The clock rate of every video payload format this receiver knows (RFC 6184, RFC 7798).
  public static let videoClockRate: UInt32 = 90_000

  /// What kind of media it is.
  public var kind: MediaKind
  /// The RTP payload type, 0 … 127, or `nil` when it is to be learned from the packets.
  public var payloadType: UInt8?
  /// The encoding name of `a=rtpmap`, such as `H264`, or `nil` when it is to be recognized.
  public var encodingName: String?
  /// The encoding names of other formats that it may come in, where none of all is known (RFC 8866
  /// §5.14); for messages.
  public var alternatives: [String] = []
  /// The other formats that its section lists, without any beside them: the sender may use each of
  /// them, too, and go on from one to another (RFC 8866 §5.14).
  public var otherFormats: [MediaDescription] = []
  /// Ticks a second, never 0; that of video where nothing is said.
  public var clockRate: UInt32 {
    get { saidClockRate ?? Self.videoClockRate }
    set { saidClockRate = newValue == 0 ? nil : newValue }
  }
  private var saidClockRate: UInt32?
  /// Whether the description has a rate that can be one.
  public var saysClockRate: Bool { saidClockRate != nil }
  /// The channels that `a=rtpmap` says (RFC 8866 §6.6); `nil` where it does not, which means one.
  public var channels: Int?
  /// The parameters of `a=fmtp`, keys in lower case, values as written.
  public var formatParameters: [String: String]
  /// The payload types of correction packets beside the media.
  public var correctionFormats: [UInt8: CorrectionFormat]
  /// The payload type of RED packets, which may carry the others (RFC 2198), or `nil`.
  public var redundancyPayloadType: UInt8?
  /// Whether SMPTE ST 2022-1 correction packets come on separate ports, which no SDP says.
  public var hasMatrixCorrection = false
  /// The payload types of retransmission packets beside the media.
  public var retransmissionFormats: [UInt8: RetransmissionFormat]
  /// The same for a separate session (RFC 4588 §5.3): empty where any type in it repeats the media,
  /// `nil` without such a session.
  public var retransmissionSession: [UInt8: RetransmissionFormat]?
  /// What the sender answers when it is asked.
  public var feedback: FeedbackOffer

  public init(
    kind: MediaKind = .video, payloadType: UInt8? = nil, encodingName: String? = nil,
    clockRate: UInt32? = nil, channels: Int? = nil,
    formatParameters: [String: String] = [:],
    correctionFormats: [UInt8: CorrectionFormat] = [:], redundancyPayloadType: UInt8? = nil,
    retransmissionFormats: [UInt8: RetransmissionFormat] = [:],
    feedback: FeedbackOffer = FeedbackOffer()
  ) {
    self.retransmissionFormats = retransmissionFormats
    self.feedback = feedback
    self.correctionFormats = correctionFormats
    self.redundancyPayloadType = redundancyPayloadType
    self.kind = kind
    self.payloadType = payloadType
    self.encodingName = encodingName
    saidClockRate = clockRate == 0 ? nil : clockRate
    self.channels = channels
    self.formatParameters = formatParameters
  }
}

extension MediaDescription {
  /// This description, with what is missing filled in from `other`.
  ///
  /// A given payload type and encoding name stay; the parameters come with them. What is beside
  /// another type than the given one, or of another encoding, does not come.
  public func completed(by other: MediaDescription) -> MediaDescription {
    var completed = other
    if let payloadType {
      (completed.payloadType, completed.otherFormats) = (payloadType, otherFormats)
    } else if let encodingName {
      completed.otherFormats.removeAll {
        $0.encodingName?.uppercased() != encodingName.uppercased()
      }
    }
    if let encodingName { completed.encodingName = encodingName }
    if let saidClockRate { completed.saidClockRate = saidClockRate }
    if let channels { completed.channels = channels }
    completed.correctionFormats.merge(correctionFormats) { _, own in own }
    if let redundancyPayloadType { completed.redundancyPayloadType = redundancyPayloadType }
    if hasMatrixCorrection { completed.hasMatrixCorrection = true }
    completed.formatParameters.merge(formatParameters) { _, own in own }
    completed.retransmissionFormats.merge(retransmissionFormats) { _, own in own }
    if let retransmissionSession {
      completed.retransmissionSession = (completed.retransmissionSession ?? [:])
        .merging(retransmissionSession) { _, own in own }
    }
    completed.feedback.requests.formUnion(feedback.requests)
    if feedback.acceptsReducedSize { completed.feedback.acceptsReducedSize = true }
    return completed
  }
}

extension MediaDescription {
  /// ``encodingName`` and ``alternatives`` in words: `VP8 or VP9`.
  public var encodingNames: String? {
    encodingName.map { ([$0] + alternatives).joined(separator: " or ") }
  }

  /// The payload types of ``otherFormats``.
  public var otherTypes: [UInt8] { otherFormats.compactMap(\.payloadType) }

  /// The payload types of what corrects or repeats the media or is put around it, in their session.
  public var auxiliaryTypes: [UInt8] {
    Array(correctionFormats.keys) + Array(retransmissionFormats.keys)
      + (redundancyPayloadType.map { [$0] } ?? [])
  }
}

/// How the packets of a stream are protected against loss; the raw value is the encoding name in
/// SDP.
public enum CorrectionFormat: String, Sendable, Hashable, CaseIterable {
  /// RFC 5109, in the source and the numbering of the media, as GStreamer and libwebrtc send it.
  case ulpfec
  /// RFC 8627, in a separate source.
  case flexfec
  /// The third draft of RFC 8627 with its different header, which browsers use.
  case flexfecDraft = "flexfec-03"

  /// Whether its packets take numbers among those of the media.
  public var isNumberedWithMedia: Bool { self == .ulpfec }
}

/// What a receiver may ask the sender of a stream for; the raw value is the name of the command
/// line.
public enum FeedbackRequest: String, Sendable, Hashable, CaseIterable {
  /// Retransmissions, by generic NACK (RFC 4585 §6.2.1).
  case nack
  /// A key picture, by picture loss indication (RFC 4585 §6.3.1).
  case pli
  /// A key picture, by full intra request (RFC 5104 §4.3.1).
  case fir

  /// The requests in a list such as `nack,pli`; `nil` if a name is unknown.
  public static func requests(named list: String) -> Set<FeedbackRequest>? {
    let names = list.split(separator: ",", omittingEmptySubsequences: false)
    let requests = names.compactMap { FeedbackRequest(rawValue: String($0)) }
    return requests.count == names.count ? Set(requests) : nil
  }
}

/// Packets that repeat others under a separate payload type (RFC 4588 §8.1).
public struct RetransmissionFormat: Sendable, Hashable {
  /// The payload type of the originals (`apt`); `nil` for that of the media.
  public var original: UInt8?
  /// How long the sender keeps what it has sent (`rtx-time`); `nil` if it does not say.
  public var time: Duration?

  public init(original: UInt8? = nil, time: Duration? = nil) {
    self.original = original
    self.time = time
  }
}

/// What the signalling says of the feedback that the sender of a stream takes.
public struct FeedbackOffer: Sendable, Hashable {
  public var requests: Set<FeedbackRequest>
  /// Whether feedback may go without the report that RFC 3550 puts before it (RFC 5506).
  public var acceptsReducedSize: Bool

  public init(_ requests: Set<FeedbackRequest> = [], acceptsReducedSize: Bool = false) {
    self.requests = requests
    self.acceptsReducedSize = acceptsReducedSize
  }
}

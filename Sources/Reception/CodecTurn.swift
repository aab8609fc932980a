import Bitstream
import Defragment
import RTPProcessor

/// The first packets behind a break, or of an access unit, until they show whether the codec
/// changed.
///
/// A sender that is set up anew may change the codec and nothing else that is seen here.
struct CodecTurn: Sendable {
  /// A sender begins with parameter sets or a key picture, which are recognized at once, and a
  /// fragment shows its codec as well; few streams have nothing but what two codecs have.
  static let patience: Duration = .milliseconds(500)
  static let maximumPackets = 128
  /// A key picture alone may have as much.
  static let maximumBytes = 4 << 20
  /// So many lost packets may be a new numbering: FFmpeg begins each within the lowest 4096.
  static let leastLoss = 64
  /// So many packets are looked at before they prove another codec: one may be a stray.
  static let proof = 2

  /// Why the codec may be another.
  enum Cause: Sendable, Hashable {
    /// The numbering was interrupted.
    case discontinuity
    /// An access unit has what the codec does not have.
    case foreign
    /// An access unit begins with what several codecs have: the delimiter of H.265 looks like
    /// supplemental information of H.264.
    case beginning
  }

  enum Outcome: Sendable, Hashable {
    case open
    case recognized(VideoCodec)
    /// It is as it was, or they do not tell.
    case former
  }

  private(set) var packets: [OrderedPacket] = []
  private(set) var cause: Cause
  private var bytes = 0
  private let former: VideoCodec
  private let formats: FormatCatalogue
  private var recognizer: FormatRecognizer

  /// Makes a turn of a stream of the codec `former`.
  init(from former: VideoCodec, _ cause: Cause, among formats: FormatCatalogue) {
    (self.former, self.cause, self.formats) = (former, cause, formats)
    recognizer = FormatRecognizer(formats)
  }

  /// When they are no longer waited with.
  var deadline: Instant? { packets.first?.arrival.advanced(by: Self.patience) }

  /// Keeps `packet`, and says what all of them show.
  mutating func keep(_ packet: OrderedPacket) -> Outcome {
    bytes += packet.packet.bytes.readableBytes
    packets.append(packet.detached())
    recognizer.observe(packet.packet)
    let payload = packet.packet.payload
    switch (formats.fit(of: payload, to: former), cause) {
    case (.own, _): return .former
    case (.undecided, .beginning) where packet.packet.marker: return .former
    case (.foreign, .beginning):
      // A stray in the middle, as a unit of Dolby Vision that looks like a fragment of H.264, is
      // nothing to begin with.
      guard formats.isEntryPoint(payload, parameterSetsKnown: false) else { return .former }
      cause = .foreign
    case (.undecided, _), (.foreign, _): break
    }
    if cause != .beginning, packets.count >= Self.proof,
      let codec = recognizer.codec(of: packet.packet.payloadType)
    {
      return .recognized(codec)
    }
    let isFull = packets.count >= Self.maximumPackets || bytes >= Self.maximumBytes
    return isFull || deadline.map { $0 <= packet.arrival } == true ? .former : .open
  }
}

import Bitstream
import Defragment
import NIOCore

/// Whether the payloads of a stream are of another codec than the one that was said.
///
/// Unlike a recognizer it weighs all payloads together, because what somebody said is overruled.
struct CodecDoubt: Sendable {
  enum Outcome: Sendable, Hashable {
    /// It may be another codec, or certainly is.
    case open
    /// What was said stands, and there is nothing more to look at.
    case confirmed
  }

  /// Fewer payloads are too few to contradict anybody.
  static let minimum: UInt64 = 10
  /// What so many payloads do not show is not looked for any longer: a stream of single NAL units
  /// may never prove its codec.
  static let maximum: UInt64 = 1000

  private let expected: VideoCodec
  private let formats: FormatCatalogue
  private var payloads: UInt64 = 0
  private var evidence: [VideoCodec: RecognitionEvidence] = [:]
  /// The codec that comes instead; `nil` where that is not certain, as with encrypted payloads.
  private(set) var other: VideoCodec?

  init(_ expected: VideoCodec, among formats: FormatCatalogue) {
    (self.expected, self.formats) = (expected, formats)
  }

  /// Looks at a payload.
  @discardableResult
  mutating func observe(_ payload: ByteBuffer) -> Outcome {
    guard payload.readableBytes > 0, payloads < Self.maximum else { return .open }
    payloads += 1
    for (codec, recognition) in formats.recognize(payload) {
      evidence[codec, default: RecognitionEvidence()].note(recognition)
    }
    guard own.certain == 0 else { return .confirmed }
    guard payloads >= Self.minimum else { return .open }
    other = formats.codecs.first { codec in
      codec != expected && evidence[codec]?.isConvincing == true
    }
    return other == nil && payloads >= Self.maximum ? .confirmed : .open
  }

  /// Whether an intact picture whose parameter sets are known proves the codec that was said.
  ///
  /// It does unless a tenth of the payloads rules that codec out: some NAL units of one codec look
  /// like small pictures of another.
  var isSettledByPicture: Bool { payloads >= Self.minimum && 10 * own.against < payloads }

  /// What speaks for the codec that was said.
  private var own: RecognitionEvidence { evidence[expected] ?? RecognitionEvidence() }
}

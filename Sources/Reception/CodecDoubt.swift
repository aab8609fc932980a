import Bitstream
import Defragment
import NIOCore

/// Whether the payloads of a stream are of another codec than the one that was said.
///
/// Unlike a recognizer it weighs all payloads together, because what somebody said is overruled.
struct CodecDoubt: Sendable {
  private struct Evidence: Sendable {
    var certain = 0
    var against = 0
  }

  /// Fewer payloads are too few to contradict anybody.
  private static let minimum = 10

  private let expected: VideoCodec
  private let formats: FormatCatalogue
  private var payloads = 0
  private var evidence: [VideoCodec: Evidence] = [:]

  init(_ expected: VideoCodec, among formats: FormatCatalogue) {
    (self.expected, self.formats) = (expected, formats)
  }

  /// Looks at a payload.
  mutating func observe(_ payload: ByteBuffer) {
    guard payload.readableBytes > 0 else { return }
    payloads += 1
    for (codec, recognition) in formats.recognize(payload) {
      switch recognition {
      case .certain: evidence[codec, default: Evidence()].certain += 1
      case .no: evidence[codec, default: Evidence()].against += 1
      case .possible: break
      }
    }
  }

  /// The codec that comes instead; `nil` where that is not certain, as with encrypted payloads.
  var other: VideoCodec? {
    guard payloads >= Self.minimum, evidence[expected]?.certain ?? 0 == 0 else { return nil }
    return formats.codecs.first { codec in
      guard codec != expected, let found = evidence[codec] else { return false }
      return found.certain > 0 && found.certain > 2 * found.against
    }
  }
}

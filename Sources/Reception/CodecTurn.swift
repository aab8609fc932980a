import Bitstream
import Defragment
import RTPProcessor

/// The first packets behind a break, until they show whether the codec changed.
///
/// A sender that is set up anew may change the codec and nothing else that is seen here.
struct CodecTurn: Sendable {
  /// A sender begins with parameter sets or a key picture, which are recognized at once; what is
  /// joined in the middle is recognized by its first fragment.
  static let patience: Duration = .milliseconds(500)
  static let maximumPackets = 128
  /// A key picture alone may have as much.
  static let maximumBytes = 4 << 20
  /// So many lost packets may be a new numbering: FFmpeg begins each within the lowest 4096.
  static let leastLoss = 64

  enum Outcome: Sendable, Hashable {
    case open
    case recognized(VideoCodec)
    /// They do not tell: it is as it was.
    case unknown
  }

  /// Within the numbering, so many packets are looked at before they prove anything.
  static let proof = 2

  private(set) var packets: [OrderedPacket] = []
  private var bytes = 0
  private let minimum: Int
  private var recognizer: FormatRecognizer

  init(_ formats: FormatCatalogue, atLeast minimum: Int) {
    recognizer = FormatRecognizer(formats)
    self.minimum = minimum
  }

  /// When they are no longer waited with.
  var deadline: Instant? { packets.first?.arrival.advanced(by: Self.patience) }

  /// Keeps `packet`, and says what all of them show.
  mutating func keep(_ packet: OrderedPacket) -> Outcome {
    bytes += packet.packet.bytes.readableBytes
    packets.append(packet.detached())
    recognizer.observe(packet.packet)
    if packets.count >= minimum, let codec = recognizer.codec(of: packet.packet.payloadType) {
      return .recognized(codec)
    }
    let isFull = packets.count >= Self.maximumPackets || bytes >= Self.maximumBytes
    return isFull || deadline.map { $0 <= packet.arrival } == true ? .unknown : .open
  }
}

import NIOCore
import RTPWire

/// A correction packet of SMPTE ST 2022-1: the parity of a row or of a column of a matrix of
/// packets.
///
/// Its RTP header is special: P, X, CC and M are the parity of those fields in the protected
/// packets, as in RFC 2733. They announce no contributing sources, extension or padding.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |V=2|P|X|  CC   |M|     PT      |        sequence number        |
/// |                           timestamp                           |
/// |                             SSRC                              |
/// |       SN base, low bits       |        length recovery        |
/// |E| PT recovery |                     mask                      |
/// |                          TS recovery                          |
/// |N|D|type |index|    offset     |      NA       | SN base, high |
/// |  parity …                                                     |
/// ```
struct ST2022Payload: Sendable {
  /// The greatest distance from the first to the last packet of a column.
  ///
  /// The standard allows at most 400 packets in a matrix.
  static let greatestSpan = 511
  private static let length = RTPPacket.minimumLength + 16

  let header: ParityHeader
  let base: SequenceNumber
  /// Offsets of the packets from ``base``, in order; never empty, ``greatestSpan`` at most.
  let offsets: [Int]
  let parity: ByteBuffer

  /// Reads a whole datagram.
  init(parsing bytes: ByteBuffer) throws(ForwardErrorCorrectionError) {
    var rest = bytes
    guard let (own, _, _, _) = rest.readMultipleIntegers(as: (UInt16, UInt16, UInt32, UInt32).self),
      let (base, length) = rest.readMultipleIntegers(as: (UInt16, UInt16).self),
      let (type, timestamp) = rest.readMultipleIntegers(as: (UInt32, UInt32).self),
      let (shape, offset, count, _) = rest.readMultipleIntegers(
        as: (UInt8, UInt8, UInt8, UInt8).self)
    else { throw .truncatedHeader(needed: Self.length, available: bytes.readableBytes) }
    guard own >> 14 == 2 else { throw .otherVersion(UInt8(own >> 14)) }
    // Without E the header ends before the matrix's shape; with N it continues after it.
    guard type >> 31 == 1 else { throw .withoutMatrix }
    guard shape >> 7 == 0 else { throw .extensionFlag }
    // Anything but parity is a Hamming or Reed-Solomon code, which nobody sends.
    guard shape >> 3 & 0b111 == 0 else { throw .otherCode(shape >> 3 & 0b111) }
    guard offset > 0, count > 0 else { throw .emptyMask(level: 0) }
    let span = Int(offset) * (Int(count) - 1)
    guard span <= Self.greatestSpan else { throw .matrixTooLarge(span) }

    header = ParityHeader(
      flags: own & 0x3F80 | UInt16(truncatingIfNeeded: type >> 24 & 0x7F), timestamp: timestamp,
      length: length)
    self.base = SequenceNumber(base)
    offsets = (0..<Int(count)).map { $0 * Int(offset) }
    parity = rest
  }
}

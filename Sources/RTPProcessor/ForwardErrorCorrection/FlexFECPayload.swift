import NIOCore
import RTPWire

/// The payload of a FlexFEC packet, of RFC 8627 §4.2.2 or of the draft that browsers speak.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |R|F|P|X|  CC   |M| PT recovery |        length recovery        |
/// |                          TS recovery                          |
/// |  the draft alone: SSRC count (8), reserved (24), SSRC (32)    |
/// |            SN base            | k, mask (15), or L and D      |
/// |k|              mask [15-45], where the first k says so        |
/// |          mask [46-109], where the second k says so            |
/// |  parity …                                                     |
/// ```
struct FlexFECPayload: Sendable {
  let header: ParityHeader
  let base: SequenceNumber
  /// Offsets of the packets from ``base``, in order; never empty, 255 × 254 at most.
  let offsets: [Int]
  let parity: ByteBuffer

  /// Reads the payload of `packet`, which is to protect `source` and no other.
  ///
  /// RFC 8627 names the sources in the CSRC list. An empty list can only mean the one source.
  init(
    parsing packet: RTPPacket, isDraft: Bool, source: UInt32
  ) throws(ForwardErrorCorrectionError) {
    var rest = packet.payload
    let available = rest.readableBytes
    let needed = isDraft ? 20 : 12
    guard
      let (flags, length, timestamp) = rest.readMultipleIntegers(
        as: (UInt16, UInt16, UInt32).self)
    else { throw .truncatedHeader(needed: needed, available: available) }
    header = ParityHeader(flags: flags, timestamp: timestamp, length: length)
    // R: a whole packet sent again; no sender is known to use it.
    guard flags & 0x8000 == 0 else { throw .retransmission }

    if isDraft {
      guard let (count, ssrc) = rest.readMultipleIntegers(as: (UInt32, UInt32).self) else {
        throw .truncatedHeader(needed: needed, available: available)
      }
      guard count >> 24 == 1, ssrc == source else { throw .otherSources }
    } else {
      guard packet.contributingSourceCount == 0 || packet.contributingSources == [source] else {
        throw .otherSources
      }
    }
    guard let (base, first) = rest.readMultipleIntegers(as: (UInt16, UInt16).self) else {
      throw .truncatedHeader(needed: needed, available: available)
    }
    self.base = SequenceNumber(base)
    if flags & 0x4000 != 0 {
      offsets = Self.matrix(columns: Int(first >> 8), rows: Int(first & 0xFF))
    } else {
      // The k bit that announces more is 1 in the RFC and 0 in the draft.
      let more: UInt16 = isDraft ? 0 : 1
      var offsets = Self.places(in: UInt64(first), bits: 15, from: 0)
      if first >> 15 == more {
        guard let second = rest.readInteger(as: UInt32.self) else { throw .truncatedMask }
        offsets += Self.places(in: UInt64(second), bits: 31, from: 15)
        if UInt16(second >> 31) == more {
          guard let third = rest.readInteger(as: UInt64.self) else { throw .truncatedMask }
          // In the draft, this part has such a bit too, and it is the last one.
          guard !isDraft || third >> 63 == 1 else { throw .truncatedMask }
          offsets += Self.places(in: third, bits: isDraft ? 63 : 64, from: 46)
        }
      }
      self.offsets = offsets
    }
    guard !offsets.isEmpty else { throw .emptyMask(level: 0) }
    parity = rest
  }

  /// The lowest `bits` bits of a mask, the highest of which stands for `first`.
  private static func places(in mask: UInt64, bits: Int, from first: Int) -> [Int] {
    (0..<bits).filter { mask >> UInt64(bits - 1 - $0) & 1 == 1 }.map { first + $0 }
  }

  /// A row of `columns` packets, or, if `rows` is two or more, a column: every `columns`-th packet
  /// (§4.2.2.2).
  private static func matrix(columns: Int, rows: Int) -> [Int] {
    rows > 1 && columns > 0
      ? (0..<rows).map { $0 * columns } : Array(0..<columns)
  }
}

import NIOCore
import RTPWire

/// The payload of a ULPFEC packet (RFC 5109 §7.3, §7.4), taken apart.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |E|L|P|X|  CC   |M| PT recovery |            SN base            |
/// |                          TS recovery                          |
/// |        length recovery        |       protection length       |
/// |             mask (16 bits, or 48 when L is set)               |
/// |  parity of level 0 …  | the next level: length, mask, parity  |
/// ```
struct ULPFECPayload: Sendable {
  /// The parity of a range of bytes in several packets, counted from the end of their fixed
  /// headers.
  struct Level: Sendable {
    /// Where the range begins, in bytes after the fixed header.
    var offset: Int
    /// Bit 47 stands for ``ULPFECPayload/base``, the bits below it for the numbers that follow.
    var mask: UInt64
    var parity: ByteBuffer
  }

  /// How many numbers a long mask has room for.
  static let longestMask = 48
  /// The most levels of one packet that are used.
  ///
  /// No known sender uses more than three.
  static let maximumLevels = 8

  let base: SequenceNumber
  let header: ParityHeader
  let levels: [Level]

  init(parsing payload: ByteBuffer) throws(ForwardErrorCorrectionError) {
    var rest = payload
    guard
      let (flags, base, timestamp, length) = rest.readMultipleIntegers(
        as: (UInt16, UInt16, UInt32, UInt16).self)
    else { throw .truncatedHeader(needed: 10, available: payload.readableBytes) }
    // §7.3: reserved for a longer header of unknown length.
    guard flags & 0x8000 == 0 else { throw .extensionFlag }
    let isLong = flags & 0x4000 != 0
    self.base = SequenceNumber(base)
    header = ParityHeader(flags: flags, timestamp: timestamp, length: length)

    var levels: [Level] = []
    var offset = 0
    while rest.readableBytes > 0, levels.count < Self.maximumLevels {
      guard let length = rest.readInteger(as: UInt16.self).map({ Int($0) }),
        let first = rest.readInteger(as: UInt16.self).map({ UInt64($0) }),
        let second = isLong ? rest.readInteger(as: UInt32.self).map({ UInt64($0) }) : 0
      else { throw .truncatedLevel(levels.count) }
      let mask = first << 32 | second
      guard mask != 0 else { throw .emptyMask(level: levels.count) }
      guard let parity = rest.readSlice(length: length) else { throw .truncatedLevel(levels.count) }
      levels.append(Level(offset: offset, mask: mask, parity: parity))
      offset += length
    }
    guard !levels.isEmpty else { throw .truncatedLevel(0) }
    self.levels = levels
  }
}

/// The XOR of the protected packets' fixed headers (RFC 5109 §7.3).
struct ParityHeader: Sendable, Hashable {
  /// P, X, CC, M and the payload type; the two bits of the version do not count.
  private(set) var flags: UInt16
  private(set) var timestamp: UInt32
  /// The number of bytes after the fixed header.
  private(set) var length: UInt16

  init(flags: UInt16, timestamp: UInt32, length: UInt16) {
    self.flags = flags & 0x3FFF
    self.timestamp = timestamp
    self.length = length
  }

  /// Adds the packet `bytes` to the parity, or removes it, which is the same.
  mutating func combine(_ bytes: ByteBuffer) {
    guard
      let (flags, _, timestamp) = bytes.getMultipleIntegers(
        at: bytes.readerIndex, as: (UInt16, UInt16, UInt32).self)
    else { return }
    self.flags ^= flags & 0x3FFF
    self.timestamp ^= timestamp
    length ^= UInt16(truncatingIfNeeded: bytes.readableBytes - RTPPacket.minimumLength)
  }
}

/// Why a payload is not forward error correction, by the field that is wrong.
public enum ForwardErrorCorrectionError: Error, Sendable, Hashable {
  /// Lengths are in bytes.
  case truncatedHeader(needed: Int, available: Int)
  /// A bit that announces an unknown header: E of RFC 5109 §7.3, N of SMPTE ST 2022-1.
  case extensionFlag
  /// A truncated protection level, counted from 0.
  case truncatedLevel(Int)
  /// The R bit of RFC 8627 §4.2.2.3.
  case retransmission
  /// Packets of other sources are protected, alone or together with those of this one.
  case otherSources
  /// A mask longer than the packet.
  case truncatedMask
  /// A level that protects no packet.
  case emptyMask(level: Int)
  /// Not RTP of version 2.
  case otherVersion(UInt8)
  /// A header of SMPTE ST 2022-1 that ends before the shape of the matrix.
  case withoutMatrix
  /// A code of SMPTE ST 2022-1 other than the parity, by its type.
  case otherCode(UInt8)
  /// More packets from the first to the last of a row or column than any sender's matrix has.
  case matrixTooLarge(Int)
}

public import NIOCore

/// Reads bits, with Exp-Golomb codes (H.264 §9.1, H.265 §9.2).
///
/// In a NAL unit it skips emulation prevention bytes: the 3 of each 00 00 03 is no data (§7.4.1).
public struct BitReader: Sendable {
  /// No bits are left, or a code has more than 31 leading zeros, which no field needs.
  public struct Exhausted: Error, Sendable {}

  private var rest: ByteBuffer
  private var current: UInt8 = 0
  private var bitsLeft = 0
  private var zeros = 0
  private let skipsEmulationPrevention: Bool
  /// Bits read so far.
  public private(set) var position = 0

  /// Begins at the first byte of `payload`, after the NAL unit header.
  public init(_ payload: ByteBuffer) {
    rest = payload
    skipsEmulationPrevention = true
  }

  /// Begins at the first of `bytes`, all of which are data, as in the syntax of sound.
  public init(plain bytes: ByteBuffer) {
    rest = bytes
    skipsEmulationPrevention = false
  }

  /// Bits that are left; in a NAL unit, emulation prevention bytes are counted too.
  public var remaining: Int { rest.readableBytes * 8 + bitsLeft }

  public mutating func bit() throws(Exhausted) -> Bool {
    if bitsLeft == 0 {
      guard var byte = rest.readInteger(as: UInt8.self) else { throw Exhausted() }
      if zeros >= 2, byte == 3, skipsEmulationPrevention {
        zeros = 0
        guard let next = rest.readInteger(as: UInt8.self) else { throw Exhausted() }
        byte = next
      }
      zeros = byte == 0 ? zeros + 1 : 0
      current = byte
      bitsLeft = 8
    }
    bitsLeft -= 1
    position += 1
    return (current >> UInt8(bitsLeft)) & 1 == 1
  }

  /// An unsigned number of `count` bits, 32 at most.
  public mutating func bits(_ count: Int) throws(Exhausted) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<count { value = value << 1 | (try bit() ? 1 : 0) }
    return value
  }

  public mutating func skip(_ count: Int) throws(Exhausted) {
    for _ in 0..<count { _ = try bit() }
  }

  /// The next `count` bytes, which may begin inside a byte.
  public mutating func bytes(_ count: Int) throws(Exhausted) -> ByteBuffer {
    guard count >= 0, count <= remaining / 8 else { throw Exhausted() }
    if bitsLeft == 0, !skipsEmulationPrevention, let bytes = rest.readSlice(length: count) {
      position += 8 * count
      return bytes
    }
    var bytes = ByteBufferAllocator().buffer(capacity: count)
    for _ in 0..<count { bytes.writeInteger(UInt8(truncatingIfNeeded: try bits(8))) }
    return bytes
  }

  /// Skips the rest of a byte that has been begun.
  public mutating func alignToByte() {
    position += bitsLeft
    bitsLeft = 0
  }

  /// An unsigned Exp-Golomb code, `ue(v)`: 0 … 2^32 − 2.
  public mutating func unsigned() throws(Exhausted) -> UInt32 {
    var zeros = 0
    while try !bit() {
      zeros += 1
      guard zeros < 32 else { throw Exhausted() }
    }
    return (1 << UInt32(zeros)) &- 1 &+ (try bits(zeros))
  }

  /// A signed Exp-Golomb code, `se(v)`.
  public mutating func signed() throws(Exhausted) -> Int64 {
    let code = Int64(try unsigned())
    return code & 1 == 1 ? (code + 1) / 2 : -(code / 2)
  }
}

/// Emulation prevention (H.264 and H.265 §7.4.1): no 00 00 00, 00 00 01 or 00 00 02 in a NAL unit.
public enum EmulationPrevention {
  /// The raw byte sequence payload of `unit`: without the 3 after two zeros.
  public static func removed(from unit: ByteBuffer) -> ByteBuffer {
    var payload = ByteBufferAllocator().buffer(capacity: unit.readableBytes)
    var zeros = 0
    for byte in unit.readableBytesView {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      payload.writeInteger(byte)
    }
    return payload
  }
}

/// Bits needed to number `count` things: `Ceil(Log2(count))`.
func bitsToTell(_ count: Int) -> Int {
  count > 1 ? Int.bitWidth - (count - 1).leadingZeroBitCount : 0
}

public import NIOCore

/// Writes bits, with Exp-Golomb codes (H.265 §9.2).
public struct BitWriter: Sendable {
  private var bytes: [UInt8] = []
  private var current: UInt8 = 0
  private var bitCount = 0

  public init() {}

  public mutating func append(_ bit: Bool) {
    current = current << 1 | (bit ? 1 : 0)
    bitCount += 1
    guard bitCount == 8 else { return }
    bytes.append(current)
    (current, bitCount) = (0, 0)
  }

  /// The last `count` bits of `value`, the most significant one first.
  public mutating func append(_ value: UInt32, bits count: Int) {
    for shift in (0..<count).reversed() { append(value >> UInt32(shift) & 1 == 1) }
  }

  /// An unsigned Exp-Golomb code, `ue(v)`.
  public mutating func append(unsigned value: UInt32) {
    let code = UInt64(value) + 1
    let length = UInt64.bitWidth - code.leadingZeroBitCount
    append(0, bits: length - 1)
    for shift in (0..<length).reversed() { append(code >> UInt64(shift) & 1 == 1) }
  }

  /// A signed Exp-Golomb code, `se(v)`.
  public mutating func append(signed value: Int32) {
    append(unsigned: value > 0 ? UInt32(value) * 2 - 1 : value.magnitude * 2)
  }

  /// All bits of `other`.
  public mutating func append(_ other: BitWriter) {
    for byte in other.bytes { append(UInt32(byte), bits: 8) }
    append(UInt32(other.current), bits: other.bitCount)
  }

  /// The next `count` bits of `reader`.
  mutating func append(
    bits count: Int, from reader: inout BitReader
  ) throws(BitReader.Exhausted) {
    for _ in 0..<count { append(try reader.bit()) }
  }

  /// A one, then zeros up to the next byte: `byte_alignment()` and `rbsp_trailing_bits()`.
  public mutating func align() {
    append(true)
    while bitCount > 0 { append(false) }
  }

  /// What was written so far, without emulation prevention; zeros fill up the last byte.
  public var plain: [UInt8] {
    bitCount == 0 ? bytes : bytes + [current << UInt8(8 - bitCount)]
  }

  /// The whole bytes written so far, as a NAL unit with `header` and emulation prevention (§7.4.1).
  public func unit(header: [UInt8]) -> ByteBuffer {
    var unit = ByteBufferAllocator().buffer(capacity: header.count + bytes.count + 8)
    unit.writeBytes(header)
    var zeros = 0
    for byte in bytes {
      if zeros >= 2, byte <= 3 {
        unit.writeInteger(3 as UInt8)
        zeros = 0
      }
      zeros = byte == 0 ? zeros + 1 : 0
      unit.writeInteger(byte)
    }
    return unit
  }
}

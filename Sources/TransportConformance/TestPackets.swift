internal import NIOCore
internal import RTPWire

/// The packets that far ends send: RTP of one source, identified by timestamps.
///
/// Their payloads are different parts of one random pattern, so that swapped bytes are detected.
struct TestPackets: Sendable {
  private let pattern: ByteBuffer
  private let source: UInt32

  init(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var pattern = ByteBuffer()
    for _ in 0..<(Self.patternLength / 8) { pattern.writeInteger(random.next()) }
    self.pattern = pattern
    source = UInt32(truncatingIfNeeded: random.next()) | 1
  }

  /// The packet of this number, in `size` bytes, at least the 12 of its header.
  func packet(_ number: Int, size: Int) -> ByteBuffer {
    var bytes = ByteBufferAllocator().buffer(capacity: size)
    bytes.writeMultipleIntegers(
      Self.start, UInt16(truncatingIfNeeded: number), UInt32(truncatingIfNeeded: number), source)
    bytes.writeImmutableBuffer(payload(number, size: size))
    return bytes
  }

  /// The packet that begins `offset` bytes into `bytes`.
  func number(at offset: Int, of bytes: ByteBuffer) -> Int? {
    guard
      let (start, sequenceNumber, number, source) = bytes.getMultipleIntegers(
        at: bytes.readerIndex + offset, as: (UInt16, UInt16, UInt32, UInt32).self),
      start == Self.start, source == self.source,
      sequenceNumber == UInt16(truncatingIfNeeded: number)
    else { return nil }
    return Int(number)
  }

  /// Whether `bytes` are exactly the packet of this number.
  func matches(_ bytes: ByteBuffer, _ number: Int) -> Bool {
    bytes.getSlice(
      at: bytes.readerIndex + Self.headerLength, length: bytes.readableBytes - Self.headerLength)
      == payload(number, size: bytes.readableBytes)
  }

  private func payload(_ number: Int, size: Int) -> ByteBuffer {
    let offset = (number &* 4099) & (Self.patternLength / 2 - 1)
    return pattern.getSlice(at: offset, length: max(size - Self.headerLength, 0)) ?? ByteBuffer()
  }

  /// Version 2, payload type 96.
  private static let start: UInt16 = 0x8060
  private static let headerLength = 12
  private static let patternLength = 128 << 10
}

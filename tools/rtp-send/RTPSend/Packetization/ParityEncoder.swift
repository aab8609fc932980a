import NIOCore
import RTPWire

/// Makes the payloads of ULPFEC packets (RFC 5109): the parity of every so many packets.
struct ParityEncoder: Sendable {
  private let interval: Int
  private var first: UInt16 = 0
  private var mask: UInt64 = 0
  private var count = 0
  private var flags: UInt16 = 0
  private var timestamp: UInt32 = 0
  private var length: UInt16 = 0
  private var parity: [UInt8] = []

  /// Protects `interval` packets, 1 … 48, at a time.
  init(interval: Int) { self.interval = min(max(interval, 1), 48) }

  /// Adds a packet with its fixed header; returns the payload that protects it once that is complete.
  mutating func add(_ packet: ByteBuffer) -> ByteBuffer? {
    guard
      let (flags, sequence, timestamp) = packet.getMultipleIntegers(
        at: packet.readerIndex, as: (UInt16, UInt16, UInt32).self)
    else { return nil }
    if count == 0 { first = sequence }
    mask |= 1 << (47 - UInt64(sequence &- first) % 48)
    self.flags ^= flags & 0x3FFF
    self.timestamp ^= timestamp
    let bytes = packet.readableBytesView.dropFirst(RTPPacket.minimumLength)
    length ^= UInt16(truncatingIfNeeded: bytes.count)
    if parity.count < bytes.count {
      parity.append(contentsOf: repeatElement(0, count: bytes.count - parity.count))
    }
    for (place, byte) in zip(parity.indices, bytes) { parity[place] ^= byte }
    count += 1
    return count == interval ? finish() : nil
  }

  /// The payload that protects the packets since the last one; `nil` without any.
  mutating func finish() -> ByteBuffer? {
    guard count > 0 else { return nil }
    // A mask of 16 bits where it is enough, else one of 48 (§7.4).
    let isLong = mask & 0xFFFF_FFFF != 0
    var payload = RTPPayload.buffer(capacity: 18 + parity.count)
    payload.writeMultipleIntegers(flags | (isLong ? 0x4000 : 0), first, timestamp, length)
    payload.writeInteger(UInt16(truncatingIfNeeded: parity.count))
    payload.writeInteger(UInt16(truncatingIfNeeded: mask >> 32))
    if isLong { payload.writeInteger(UInt32(truncatingIfNeeded: mask)) }
    payload.writeBytes(parity)
    self = ParityEncoder(interval: interval)
    return payload
  }
}

import NIOCore
import RTPWire

/// Makes the payloads of ULPFEC (RFC 5109) and FlexFEC (RFC 8627) packets: the parity of a fixed
/// number of consecutive packets.
struct ParityEncoder: Sendable {
  private let format: CorrectionFormat
  private let interval: Int
  private var first: UInt16 = 0
  private var ssrc: UInt32 = 0
  private var mask: UInt64 = 0
  private var count = 0
  private var flags: UInt16 = 0
  private var timestamp: UInt32 = 0
  private var length: UInt16 = 0
  private var parity: [UInt8] = []

  /// Protects `interval` packets, 1 … 48, at a time.
  init(_ format: CorrectionFormat, interval: Int) {
    self.format = format
    self.interval = min(max(interval, 1), 48)
  }

  /// Adds a packet with its fixed header; returns the payload that protects it once that is
  /// complete.
  mutating func add(_ packet: ByteBuffer) -> ByteBuffer? {
    guard
      let (flags, sequence, timestamp, ssrc) = packet.getMultipleIntegers(
        at: packet.readerIndex, as: (UInt16, UInt16, UInt32, UInt32).self)
    else { return nil }
    if count == 0 { (first, self.ssrc) = (sequence, ssrc) }
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
    var payload = RTPPayload.buffer(capacity: 34 + parity.count)
    switch format {
    case .ulpfec: writeULPFECHeader(to: &payload)
    case .flexfec, .flexfecDraft: writeFlexFECHeader(to: &payload)
    }
    payload.writeBytes(parity)
    self = ParityEncoder(format, interval: interval)
    return payload
  }

  private func writeULPFECHeader(to payload: inout ByteBuffer) {
    // A mask of 16 bits where it is enough, else one of 48 (RFC 5109 §7.4).
    let isLong = mask & 0xFFFF_FFFF != 0
    payload.writeMultipleIntegers(flags | (isLong ? 0x4000 : 0), first, timestamp, length)
    payload.writeInteger(UInt16(truncatingIfNeeded: parity.count))
    payload.writeInteger(UInt16(truncatingIfNeeded: mask >> 32))
    if isLong { payload.writeInteger(UInt32(truncatingIfNeeded: mask)) }
  }

  /// The flexible mask (RFC 8627 §4.2.2.1); the draft names the source, and its k bits are turned.
  private func writeFlexFECHeader(to payload: inout ByteBuffer) {
    payload.writeMultipleIntegers(flags, length, timestamp)
    let isDraft = format == .flexfecDraft
    if isDraft { payload.writeMultipleIntegers(UInt32(1 << 24), ssrc) }
    let reaches = (mask & 0x1_FFFF_FFFF != 0, mask & 0b11 != 0)
    let first = UInt16(truncatingIfNeeded: mask >> 33)
    payload.writeMultipleIntegers(self.first, first | (reaches.0 != isDraft ? 0x8000 : 0))
    guard reaches.0 else { return }
    let second = UInt32(truncatingIfNeeded: mask >> 2) & 0x7FFF_FFFF
    payload.writeInteger(second | (reaches.1 != isDraft ? 0x8000_0000 : 0))
    if reaches.1 { payload.writeInteger(mask << 62) }
  }
}

import NIOCore
import RTPWire

/// A set of packets, any one of which can be rebuilt from the others: one level of a correction
/// packet.
struct ProtectedSet: Sendable {
  /// The extended sequence numbers of the packets, in order; never empty.
  let places: [Int64]
  /// The parity of the headers; only the first level has one.
  let header: ParityHeader?
  /// Where the protected bytes begin, counted from the end of the fixed header.
  let offset: Int
  /// The parity of the bytes; shorter packets count as padded with zeros.
  let parity: ByteBuffer
  let ssrc: UInt32

  /// A copy with its own storage, so that it does not keep the whole read in memory.
  func detached() -> ProtectedSet {
    ProtectedSet(
      places: places, header: header, offset: offset, parity: ByteBuffer(buffer: parity),
      ssrc: ssrc)
  }

  /// The header of the missing packet, given all `others`.
  func header(without others: [ByteBuffer]) -> ParityHeader? {
    guard var result = header else { return nil }
    for packet in others { result.combine(packet) }
    return result
  }

  /// The bytes of the missing packet, given all `others`.
  func bytes(without others: [ByteBuffer]) -> [UInt8] {
    var result = [UInt8](parity.readableBytesView)
    for packet in others {
      let run = packet.readableBytesView.dropFirst(RTPPacket.minimumLength + offset)
      for (place, byte) in zip(result.indices, run) { result[place] ^= byte }
    }
    return result
  }
}

/// A packet that is being rebuilt level by level (RFC 5109 §9).
struct RebuiltPacket: Sendable {
  /// The fixed header, and the bytes after it that are known.
  private(set) var bytes: ByteBuffer
  /// The length of the whole packet in bytes.
  let length: Int

  init(_ header: ParityHeader, sequence: Int64, of set: ProtectedSet) {
    length = RTPPacket.minimumLength + Int(header.length)
    bytes = ByteBuffer()
    bytes.writeMultipleIntegers(
      0x8000 | header.flags, UInt16(truncatingIfNeeded: sequence), header.timestamp, set.ssrc)
  }

  var isComplete: Bool { bytes.readableBytes == length }

  /// Whether bytes from `offset` after the fixed header leave no hole.
  func reaches(_ offset: Int) -> Bool {
    bytes.readableBytes >= RTPPacket.minimumLength + offset
  }

  /// Adds `run` at `offset` after the fixed header, where it leaves no hole.
  mutating func append(_ run: [UInt8], at offset: Int) {
    let known = bytes.readableBytes - RTPPacket.minimumLength - offset
    bytes.writeBytes(run.dropFirst(known).prefix(length - bytes.readableBytes))
  }
}

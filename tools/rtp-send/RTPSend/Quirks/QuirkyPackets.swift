import Impairment
import NIOCore
import RTPWire

/// Finished RTP packets as cameras with quirks send them.
enum QuirkyPackets {
  /// Geovision's.
  private static let extraPayloadType: UInt8 = 50
  private static let padding: [UInt8] = [0, 0, 0, 4]

  static func apply(_ quirks: Set<Quirk>, to packets: [ByteBuffer]) -> [ByteBuffer] {
    guard !quirks.isDisjoint(with: [.padding, .extraPackets]) else { return packets }
    return packets.flatMap { packet in
      var packet = packet
      if quirks.contains(.padding) {
        let first = packet.getInteger(at: packet.readerIndex, as: UInt8.self) ?? 0
        packet.setInteger(first | 0x20, at: packet.readerIndex)
        packet.writeBytes(padding)
      }
      return quirks.contains(.extraPackets) ? [packet, extra(after: packet)] : [packet]
    }
  }

  /// A packet with the same sequence number.
  private static func extra(after packet: ByteBuffer) -> ByteBuffer {
    var extra = packet.getSlice(at: packet.readerIndex, length: RTPPacket.minimumLength) ?? packet
    extra.setInteger(UInt8(0x80), at: extra.readerIndex)
    extra.setInteger(extraPayloadType, at: extra.readerIndex + 1)
    extra.writeBytes([0, 1, 2, 3, 4, 5, 6, 7])
    return extra
  }
}

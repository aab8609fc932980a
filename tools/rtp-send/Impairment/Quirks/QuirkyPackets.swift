public import NIOCore
import RTPWire

/// Finished RTP packets and RTCP compounds in clear, as senders with quirks write them.
public struct QuirkyPackets: Sendable {
  /// Geovision's.
  private static let extraPayloadType: UInt8 = 50
  private static let padding: [UInt8] = [0, 0, 0, 4]
  private static let hour: UInt32 = 3600 * 90_000

  /// The timestamps of the first packet and of the last one, and the ticks between them.
  private var first: UInt32?
  private var last: UInt32 = 0
  private var elapsed: Int64 = 0

  public init() {}

  /// The packet as it is sent, and perhaps another one behind it.
  public mutating func apply(_ quirks: Set<Quirk>, to packet: ByteBuffer) -> [ByteBuffer] {
    let start = packet.readerIndex
    guard
      let (flags, type) = packet.getMultipleIntegers(at: start, as: (UInt8, UInt8).self),
      let timestamp = packet.getInteger(at: start + 4, as: UInt32.self),
      packet.readableBytes >= RTPPacket.minimumLength
    else { return [packet] }
    let time = time(quirks, timestamp)
    guard !quirks.isEmpty else { return [packet] }
    var packet = packet
    if quirks.contains(.noMarker) { packet.setInteger(type & 0x7F, at: start + 1) }
    if quirks.contains(.markerOnEveryPacket) { packet.setInteger(type | 0x80, at: start + 1) }
    if time != timestamp { packet.setInteger(time, at: start + 4) }
    if quirks.contains(.padding) {
      packet.setInteger(flags | 0x20, at: start)
      packet.writeBytes(Self.padding)
    }
    return quirks.contains(.extraPackets) ? [packet, Self.extra(after: packet)] : [packet]
  }

  /// Changes the sender reports of a compound.
  public static func apply(_ quirks: Set<Quirk>, toReports compound: inout ByteBuffer) {
    compound.forEachRTCP { packet, type, bytes in
      let ssrc = packet.lowerBound + 4
      switch type {
      case 200:
        if quirks.contains(.reportOfStranger) { bytes.change(at: ssrc) { (n: UInt32) in ~n } }
        if quirks.contains(.reportFarAhead) {
          bytes.change(at: packet.lowerBound + 16) { $0 &+ Self.hour }
        }
        if quirks.contains(.reportJitter) {
          // By any number that changes with each report: at most half a second either way.
          let count = bytes.getInteger(at: packet.lowerBound + 20, as: UInt32.self) ?? 0
          var dice = SplitMix64(seed: UInt64(count))
          bytes.change(at: packet.lowerBound + 8) { (time: UInt64) in
            time &+ dice.next() >> 32 &- 1 << 31
          }
        }
      case 202:
        if quirks.contains(.reportOfStranger) { bytes.change(at: ssrc) { (n: UInt32) in ~n } }
      default: break
      }
    }
  }

  /// What a packet says instead of its timestamp.
  private mutating func time(_ quirks: Set<Quirk>, _ timestamp: UInt32) -> UInt32 {
    let first = first ?? timestamp
    if self.first == nil { (self.first, last) = (timestamp, timestamp) }
    elapsed += Int64(Int32(bitPattern: timestamp &- last))
    last = timestamp
    if quirks.contains(.timestampsStuck) { return first }
    guard quirks.contains(.timestampsInMilliseconds) else { return timestamp }
    return first &+ UInt32(truncatingIfNeeded: elapsed / 90)
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

import NIOCore

/// H.264 in packetization-mode 2: STAP-B, MTAP16, MTAP24, FU-A and FU-B (RFC 6184 §6.4).
public struct H264InterleavedPacketizer: Packetizer {
  static let stapB: UInt8 = 25
  static let mtap16: UInt8 = 26
  static let mtap24: UInt8 = 27

  private let payloadLimit: Int
  private let aggregates: Bool
  private let aggregation: Packetization
  private var interleaver: Interleaver

  /// Makes payloads of at most `payloadLimit` bytes, 16 or more; smaller limits are raised to 16.
  public init(
    payloadLimit: Int = 1400, aggregates: Bool = true, aggregation: Packetization = .interleaved,
    interleaver: Interleaver = Interleaver()
  ) {
    self.payloadLimit = max(payloadLimit, RTPPayload.minimumLimit)
    self.aggregates = aggregates
    self.aggregation = aggregation
    self.interleaver = interleaver
  }

  public mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    let units = unit.units.filter(Codec.h264.canSend)
    return payloads(
      of: interleaver.push(units, ticks: unit.presentationTicks, isKey: unit.isRandomAccess))
  }

  public mutating func finish() -> [RTPPayload] { payloads(of: interleaver.finish()) }

  private func payloads(of items: [Interleaver.Item]) -> [RTPPayload] {
    var payloads: [RTPPayload] = []
    var group: [Interleaver.Item] = []
    for item in items {
      if aggregates, !group.isEmpty, isPacket(group + [item]) {
        group.append(item)
        continue
      }
      flush(&group, into: &payloads)
      if isPacket([item]) {
        group = [item]
      } else {
        fragment(item, into: &payloads)
      }
    }
    flush(&group, into: &payloads)
    return payloads
  }

  private func fragment(_ item: Interleaver.Item, into payloads: inout [RTPPayload]) {
    var fragments: [ByteBuffer] = []
    H264Packetizer.fragment(
      item.unit, limit: payloadLimit, decodingOrderNumber: item.number, into: &fragments)
    for (index, bytes) in fragments.enumerated() {
      let isLast = index == fragments.count - 1
      payloads.append(
        RTPPayload(
          bytes: bytes, ticks: item.ticks, marker: isLast && item.endsAccessUnit, key: [item].key))
    }
  }

  /// Whether `group` can travel as one aggregation packet.
  private func isPacket(_ group: [Interleaver.Item]) -> Bool {
    length(of: group) <= payloadLimit && (fitsSingleTime(group) || fitsMultiTime(group))
  }

  private func length(of group: [Interleaver.Item]) -> Int {
    // A STAP-B has 2 bytes of length a unit; MTAPs add DOND and a timestamp offset of 2 or 3 bytes.
    let overhead = fitsSingleTime(group) ? 2 : aggregation == .mtap16 ? 5 : 6
    return group.reduce(3) { $0 + overhead + $1.unit.readableBytes }
  }

  /// RFC 6184 §5.7.1: one time, and decoding order numbers that follow one another.
  private func fitsSingleTime(_ group: [Interleaver.Item]) -> Bool {
    zip(group, group.dropFirst()).allSatisfy {
      $0.ticks == $1.ticks && $1.number == $0.number &+ 1
    }
  }

  /// RFC 6184 §5.7.2: numbers and times relative to the least ones, in 8 and in 16 or 24 bits.
  private func fitsMultiTime(_ group: [Interleaver.Item]) -> Bool {
    guard aggregation == .mtap16 || aggregation == .mtap24 else { return false }
    let (number, ticks) = base(of: group)
    let limit: Int64 = aggregation == .mtap16 ? 0xFFFF : 0xFF_FFFF
    return group.allSatisfy { $0.number &- number <= 0xFF && $0.ticks - ticks <= limit }
  }

  /// The decoding order number and the time that come first in `group`.
  private func base(of group: [Interleaver.Item]) -> (number: UInt16, ticks: Int64) {
    guard let first = group.first else { return (0, 0) }
    let number = group.map(\.number).min {
      Int16(truncatingIfNeeded: Int($0) - Int($1)) < 0
    }
    return (number ?? first.number, group.map(\.ticks).min() ?? first.ticks)
  }

  private func flush(_ group: inout [Interleaver.Item], into payloads: inout [RTPPayload]) {
    guard let last = group.last else { return }
    let isSingleTime = fitsSingleTime(group)
    let (number, ticks) = base(of: group)
    let type = isSingleTime ? Self.stapB : aggregation == .mtap16 ? Self.mtap16 : Self.mtap24
    var bytes = RTPPayload.buffer(capacity: length(of: group))
    bytes.writeInteger(H264Packetizer.header(type: type, aggregating: group.map(\.unit)))
    bytes.writeInteger(number)
    for item in group {
      bytes.writeInteger(UInt16(clamping: item.unit.readableBytes))
      if !isSingleTime {
        let offset = UInt32(clamping: item.ticks - ticks)
        bytes.writeInteger(UInt8(truncatingIfNeeded: item.number &- number))
        if type == Self.mtap24 { bytes.writeInteger(UInt8(truncatingIfNeeded: offset >> 16)) }
        bytes.writeInteger(UInt16(truncatingIfNeeded: offset))
      }
      bytes.writeImmutableBuffer(item.unit)
    }
    payloads.append(
      RTPPayload(bytes: bytes, ticks: ticks, marker: last.endsAccessUnit, key: group.key))
    group.removeAll()
  }
}

import NIOCore

/// H.265: single NAL units, aggregation packets and fragmentation units (RFC 7798 §4.4).
///
/// With an interleaver, units travel out of decoding order and carry DONL and DOND, which is what
/// `sprop-max-don-diff` above 0 announces.
public struct H265Packetizer: Packetizer {
  static let aggregationPacket: UInt16 = 48
  static let fragmentationUnit: UInt16 = 49

  private let payloadLimit: Int
  private let aggregates: Bool
  private var interleaver: Interleaver?

  /// Makes payloads of at most `payloadLimit` bytes, 16 or more; smaller limits are raised to 16.
  public init(
    payloadLimit: Int = 1400, aggregates: Bool = true, interleaver: Interleaver? = nil
  ) {
    self.payloadLimit = max(payloadLimit, RTPPayload.minimumLimit)
    self.aggregates = aggregates
    self.interleaver = interleaver
  }

  public mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    let units = unit.units.filter(Codec.h265.canSend)
    if interleaver != nil {
      let items = interleaver?.push(
        units, ticks: unit.presentationTicks, isKey: unit.isRandomAccess)
      return payloads(of: items ?? [])
    }
    return payloads(
      of: units.enumerated().map { index, bytes in
        Interleaver.Item(
          unit: bytes, ticks: unit.presentationTicks, number: 0,
          endsAccessUnit: index == units.count - 1, isKey: unit.isRandomAccess)
      })
  }

  public mutating func finish() -> [RTPPayload] { payloads(of: interleaver?.finish() ?? []) }

  private var isNumbered: Bool { interleaver != nil }
  /// DONL is 2 bytes where it is present.
  private var numberLength: Int { isNumbered ? 2 : 0 }

  private func payloads(of items: [Interleaver.Item]) -> [RTPPayload] {
    var payloads: [RTPPayload] = []
    var group: [Interleaver.Item] = []
    for item in items {
      if aggregates, let last = group.last, follows(item, last),
        length(of: group + [item]) <= payloadLimit
      {
        group.append(item)
        continue
      }
      flush(&group, into: &payloads)
      if item.unit.readableBytes + numberLength <= payloadLimit {
        group = [item]
      } else {
        fragment(item, into: &payloads)
      }
    }
    flush(&group, into: &payloads)
    return payloads
  }

  /// Whether `item` may follow `last` in an aggregation packet (RFC 7798 §4.4.2): units of one
  /// access unit, in decoding order, at most 256 apart.
  private func follows(_ item: Interleaver.Item, _ last: Interleaver.Item) -> Bool {
    item.ticks == last.ticks
      && (!isNumbered || (1...256).contains(item.number &- last.number))
  }

  /// Bytes of an aggregation packet: its header, DONL, and a length and (but for the first) DOND a
  /// unit.
  private func length(of group: [Interleaver.Item]) -> Int {
    let differences = isNumbered ? group.count - 1 : 0
    return group.reduce(2 + numberLength + differences) { $0 + 2 + $1.unit.readableBytes }
  }

  private func flush(_ group: inout [Interleaver.Item], into payloads: inout [RTPPayload]) {
    guard let first = group.first, let last = group.last else { return }
    var bytes = RTPPayload.buffer(capacity: length(of: group))
    if group.count == 1 {
      // The header, then DONL, then the rest of the unit (§4.4.1).
      var unit = first.unit
      if let header = unit.readInteger(as: UInt16.self) { bytes.writeInteger(header) }
      if isNumbered { bytes.writeInteger(first.number) }
      bytes.writeImmutableBuffer(unit)
    } else {
      bytes.writeInteger(Self.header(aggregating: group.map(\.unit)))
      var previous: UInt16?
      for item in group {
        if isNumbered {
          if let previous {
            bytes.writeInteger(UInt8(truncatingIfNeeded: item.number &- previous &- 1))
          } else {
            bytes.writeInteger(item.number)
          }
          previous = item.number
        }
        bytes.writeInteger(UInt16(clamping: item.unit.readableBytes))
        bytes.writeImmutableBuffer(item.unit)
      }
    }
    payloads.append(
      RTPPayload(bytes: bytes, ticks: first.ticks, marker: last.endsAccessUnit, key: group.key))
    group.removeAll()
  }

  /// §4.4.2: F is the OR of the units', LayerId and TID are their minima.
  private static func header(aggregating units: [ByteBuffer]) -> UInt16 {
    let headers = units.compactMap { $0.getInteger(at: $0.readerIndex, as: UInt16.self) }
    let forbidden = headers.reduce(0) { $0 | $1 & 0x8000 }
    let layer = headers.map { $0 & 0x01F8 }.min() ?? 0
    let temporal = headers.map { $0 & 0x0007 }.min() ?? 1
    return forbidden | aggregationPacket << 9 | layer | temporal
  }

  private func fragment(_ item: Interleaver.Item, into payloads: inout [RTPPayload]) {
    guard let header = item.unit.getInteger(at: item.unit.readerIndex, as: UInt16.self) else {
      return
    }
    let type = UInt8(truncatingIfNeeded: header >> 9 & 0x3F)
    let fragments = item.unit.fragments(
      afterHeader: 2, first: payloadLimit - 3 - numberLength, others: payloadLimit - 3)
    for (index, fragment) in fragments.enumerated() {
      let isFirst = index == 0
      let isLast = index == fragments.count - 1
      var bytes = RTPPayload.buffer(capacity: fragment.readableBytes + 5)
      bytes.writeInteger(header & 0x81FF | Self.fragmentationUnit << 9)
      bytes.writeInteger(type | (isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0))
      if isFirst, isNumbered { bytes.writeInteger(item.number) }
      bytes.writeImmutableBuffer(fragment)
      payloads.append(
        RTPPayload(
          bytes: bytes, ticks: item.ticks, marker: isLast && item.endsAccessUnit, key: [item].key))
    }
  }
}

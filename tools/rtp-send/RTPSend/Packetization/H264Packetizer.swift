import NIOCore

/// H.264 in packetization-mode 1: single NAL units, STAP-A and FU-A (RFC 6184 §6.3).
public struct H264Packetizer: Packetizer {
  static let stapA: UInt8 = 24
  static let fuA: UInt8 = 28

  private let payloadLimit: Int
  private let aggregates: Bool

  /// Makes payloads of at most `payloadLimit` bytes, 16 or more; smaller limits are raised to 16.
  public init(payloadLimit: Int = 1400, aggregates: Bool = true) {
    self.payloadLimit = max(payloadLimit, RTPPayload.minimumLimit)
    self.aggregates = aggregates
  }

  public mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    var payloads: [ByteBuffer] = []
    var aggregate = emptyAggregate
    for nalUnit in unit.units where Codec.h264.canSend(nalUnit) {
      if aggregates, aggregate.add(nalUnit) { continue }
      flush(&aggregate, into: &payloads)
      if nalUnit.readableBytes > payloadLimit {
        Self.fragment(nalUnit, limit: payloadLimit, into: &payloads)
      } else if !aggregates || !aggregate.add(nalUnit) {
        payloads.append(Self.single(nalUnit))
      }
    }
    flush(&aggregate, into: &payloads)
    let last = payloads.count - 1
    return payloads.enumerated().map { index, bytes in
      RTPPayload(
        bytes: bytes, ticks: unit.presentationTicks, marker: index == last, key: unit.key)
    }
  }

  public mutating func finish() -> [RTPPayload] { [] }

  private var emptyAggregate: Aggregate { Aggregate(header: 1, overhead: 2, limit: payloadLimit) }

  private func flush(_ aggregate: inout Aggregate, into payloads: inout [ByteBuffer]) {
    let units = aggregate.units
    aggregate = emptyAggregate
    guard units.count > 1 else {
      payloads += units.map(Self.single)
      return
    }
    var bytes = RTPPayload.buffer(capacity: payloadLimit)
    bytes.writeInteger(Self.header(type: Self.stapA, aggregating: units))
    for unit in units {
      bytes.writeInteger(UInt16(clamping: unit.readableBytes))
      bytes.writeImmutableBuffer(unit)
    }
    payloads.append(bytes)
  }

  /// A NAL unit as a payload (RFC 6184 §5.6).
  static func single(_ unit: ByteBuffer) -> ByteBuffer {
    var bytes = RTPPayload.buffer(capacity: unit.readableBytes)
    bytes.writeImmutableBuffer(unit)
    return bytes
  }

  /// The header of an aggregation packet: F is the OR, NRI the maximum of the units' (RFC 6184
  /// §5.7).
  static func header(type: UInt8, aggregating units: [ByteBuffer]) -> UInt8 {
    let headers = units.compactMap { $0.getInteger(at: $0.readerIndex, as: UInt8.self) }
    let forbidden = headers.reduce(0) { $0 | $1 & 0x80 }
    let importance = headers.map { $0 & 0x60 }.max() ?? 0
    return forbidden | importance | type
  }

  /// FU-A packets of `unit`; with a `decodingOrderNumber` the first one is a FU-B (RFC 6184 §5.8).
  static func fragment(
    _ unit: ByteBuffer, limit: Int, decodingOrderNumber: UInt16? = nil,
    into payloads: inout [ByteBuffer]
  ) {
    guard let header = unit.getInteger(at: unit.readerIndex, as: UInt8.self) else { return }
    let firstRoom = limit - (decodingOrderNumber == nil ? 2 : 4)
    let fragments = unit.fragments(afterHeader: 1, first: firstRoom, others: limit - 2)
    for (index, fragment) in fragments.enumerated() {
      let isFirst = index == 0
      let isLast = index == fragments.count - 1
      let number = isFirst ? decodingOrderNumber : nil
      var bytes = RTPPayload.buffer(capacity: fragment.readableBytes + 4)
      bytes.writeInteger(header & 0xE0 | (number == nil ? fuA : fuA + 1))
      bytes.writeInteger(header & 0x1F | (isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0))
      if let number { bytes.writeInteger(number) }
      bytes.writeImmutableBuffer(fragment)
      payloads.append(bytes)
    }
  }
}

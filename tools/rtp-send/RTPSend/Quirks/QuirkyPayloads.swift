import Impairment
import NIOCore

/// The payloads of pictures as cameras with quirks make them.
struct QuirkyPayloads {
  private let codec: Codec
  /// Of the picture before.
  private var lastTicks: Int64 = 0

  init(codec: Codec) { self.codec = codec }

  mutating func payloads(
    of unit: SourceAccessUnit, by packetizer: inout any Packetizer, _ quirks: Set<Quirk>
  ) -> [RTPPayload] {
    defer { lastTicks = unit.presentationTicks }
    var unit = unit
    change(&unit, quirks)
    var payloads: [RTPPayload] = []
    if !quirks.isDisjoint(with: [.markerAfterParameterSets, .parameterSetsEarly]) {
      payloads += separate(&unit, by: &packetizer, quirks)
    }
    if !quirks.isDisjoint(with: [.fragmentAlone, .markerOnEverySlice]) {
      payloads += divided(unit, by: &packetizer, quirks)
    } else {
      payloads += packetizer.packetize(unit)
    }
    for index in payloads.indices {
      if quirks.contains(.timestampsByDecodingOrder) { payloads[index].ticks = unit.decodingTicks }
      changeStructure(&payloads[index].bytes, quirks)
    }
    if quirks.contains(.emptyFragments) { payloads = payloads.flatMap { withEmptyFragment($0) } }
    if quirks.contains(.emptyPayloads), let first = payloads.first {
      let empty = RTPPayload(
        bytes: RTPPayload.buffer(capacity: 0), ticks: first.ticks, marker: false)
      payloads.insert(empty, at: 0)
    }
    return payloads
  }

  /// What is in the NAL units.
  private func change(_ unit: inout SourceAccessUnit, _ quirks: Set<Quirk>) {
    if quirks.contains(.parameterSetsInSDP) {
      unit.units.removeAll { codec.parameterSet($0) != nil }
    }
    if quirks.contains(.bytesAfterSPS) {
      for index in unit.units.indices where codec.parameterSet(unit.units[index]) == .sequence {
        unit.units[index].writeBytes([0x9A, 0x26, 0x32, 0x80])
      }
    }
    if quirks.contains(.startCodesInside), var all = unit.units.first {
      for other in unit.units.dropFirst() {
        all.writeBytes([0, 0, 0, 1])
        all.writeImmutableBuffer(other)
      }
      unit.units = [all]
    }
  }

  /// Takes parameter sets and SEI out of the unit and into packets of their own.
  private func separate(
    _ unit: inout SourceAccessUnit, by packetizer: inout any Packetizer, _ quirks: Set<Quirk>
  ) -> [RTPPayload] {
    let codec = codec
    let own = unit.units.filter { codec.isParameterSetOrSEI($0) }
    unit.units.removeAll { codec.isParameterSetOrSEI($0) }
    var payloads: [RTPPayload] = []
    for set in own {
      var part = unit
      part.units = [set]
      if quirks.contains(.parameterSetsEarly) { part.presentationTicks = lastTicks }
      payloads += packetizer.packetize(part).map { payload in
        var payload = payload
        payload.marker = payload.marker && quirks.contains(.markerAfterParameterSets)
        // Whatever time they have, they belong to their picture.
        payload.key = unit.key ?? payload.key
        return payload
      }
    }
    return payloads
  }

  /// Packets that hold a NAL unit each, or a part of one.
  private func divided(
    _ unit: SourceAccessUnit, by packetizer: inout any Packetizer, _ quirks: Set<Quirk>
  ) -> [RTPPayload] {
    let codec = codec
    var payloads: [RTPPayload] = []
    for (index, nalUnit) in unit.units.enumerated() {
      let isMarked =
        quirks.contains(.markerOnEverySlice)
        ? codec.isSlice(nalUnit) : index == unit.units.count - 1
      var part = unit
      part.units = [nalUnit]
      payloads += packetizer.packetize(part).map { payload in
        var payload = payload
        payload.marker = payload.marker && isMarked
        return payload
      }
    }
    return payloads
  }

  /// The structures of RFC 6184 and RFC 7798 around the NAL units.
  private func changeStructure(_ bytes: inout ByteBuffer, _ quirks: Set<Quirk>) {
    guard let type = codec.type(of: bytes) else { return }
    let start = bytes.readerIndex
    let header = start + codec.headerLength
    switch type {
    case codec.fragmentType:
      guard var fragment = bytes.getInteger(at: header, as: UInt8.self) else { return }
      if quirks.contains(.fragmentTypeChanges), fragment & 0x80 == 0 {
        // An IDR slice says that it is none, and the other way round.
        fragment ^= codec == .h264 ? 4 : 1
      }
      if quirks.contains(.fragmentReservedBit), codec == .h264 { fragment |= 0x20 }
      if quirks.contains(.fragmentWithoutStart) { fragment &= 0x7F }
      if quirks.contains(.fragmentWithoutEnd) { fragment &= 0xBF }
      bytes.setInteger(fragment, at: header)
    case codec.aggregateType:
      if quirks.contains(.emptyUnits) {
        let units = bytes.getSlice(at: header, length: bytes.writerIndex - header) ?? ByteBuffer()
        bytes.moveWriterIndex(to: header)
        bytes.writeInteger(UInt16(0))
        bytes.writeImmutableBuffer(units)
      }
      if quirks.contains(.aggregatePadding) { bytes.writeRepeatingByte(0, count: 4) }
    default:
      guard quirks.contains(.fragmentAlone) else { return }
      let unit = bytes.getSlice(at: start, length: bytes.readableBytes) ?? ByteBuffer()
      bytes = RTPPayload.buffer(capacity: unit.readableBytes + 2)
      writeFragmentHeader(around: unit, type: type, to: &bytes)
      bytes.writeImmutableBuffer(
        unit.getSlice(
          at: unit.readerIndex + codec.headerLength,
          length: unit.readableBytes - codec.headerLength) ?? ByteBuffer())
    }
  }

  /// A fragment that is neither the first nor the last, with one without bytes in front of it.
  private func withEmptyFragment(_ payload: RTPPayload) -> [RTPPayload] {
    let header = payload.bytes.readerIndex + codec.headerLength
    guard codec.type(of: payload.bytes) == codec.fragmentType,
      let flags = payload.bytes.getInteger(at: header, as: UInt8.self), flags & 0xC0 == 0,
      let bytes = payload.bytes.getBytes(
        at: payload.bytes.readerIndex, length: codec.headerLength + 1)
    else { return [payload] }
    var empty = payload
    empty.marker = false
    empty.bytes = RTPPayload.buffer(capacity: bytes.count)
    empty.bytes.writeBytes(bytes)
    return [empty, payload]
  }

  private func writeFragmentHeader(
    around unit: ByteBuffer, type: UInt8, to bytes: inout ByteBuffer
  ) {
    let first = unit.getInteger(at: unit.readerIndex, as: UInt8.self) ?? 0
    switch codec {
    case .h264: bytes.writeInteger(first & 0xE0 | codec.fragmentType)
    case .h265:
      let second = unit.getInteger(at: unit.readerIndex + 1, as: UInt8.self) ?? 0
      bytes.writeMultipleIntegers(first & 0x81 | codec.fragmentType << 1, second)
    }
    bytes.writeInteger(0xC0 | type)
  }
}

extension Codec {
  /// FU-A (RFC 6184 §5.8) and FU (RFC 7798 §4.4.3).
  fileprivate var fragmentType: UInt8 { self == .h264 ? 28 : 49 }
  /// STAP-A (RFC 6184 §5.7.1) and AP (RFC 7798 §4.4.2).
  fileprivate var aggregateType: UInt8 { self == .h264 ? 24 : 48 }

  /// Whether it is part of a picture (H.264 table 7-1, H.265 table 7-1).
  fileprivate func isSlice(_ unit: ByteBuffer) -> Bool {
    guard let type = type(of: unit) else { return false }
    return self == .h264 ? (1...5).contains(type) : type < 32
  }

  fileprivate func isParameterSetOrSEI(_ unit: ByteBuffer) -> Bool {
    if parameterSet(unit) != nil { return true }
    return type(of: unit) == (self == .h264 ? 6 : 39)
  }
}

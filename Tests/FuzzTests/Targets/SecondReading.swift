import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire

extension FuzzTarget {
  /// F16: two readings of the same payloads.
  ///
  /// The second, strict one is that of the RFCs' tables; what it takes, the first one has to take
  /// as the same NAL units.
  static let secondReading = FuzzTarget("second-reading") { choices in
    let codec = choices.flag() ? H265.codec : H264.codec
    var payloads: [[UInt8]] = []
    while !choices.isEmpty { payloads.append(choices.piece()) }
    payloads.removeAll(where: \.isEmpty)
    var strict = StrictReading(isH264: codec == H264.codec)
    guard payloads.allSatisfy({ strict.read($0) }), strict.isBetweenUnits,
      strict.units.count < VideoDefragmenter.Limits().unitsPerAccessUnit
    else { return }

    var defragmenter = try VideoDefragmenter(
      media: MediaDescription(encodingName: codec.encodingName))
    var units: [[UInt8]] = []
    for (index, payload) in payloads.enumerated() {
      var bytes = ByteBuffer()
      bytes.writeMultipleIntegers(
        UInt8(0x80), UInt8(96), UInt16(truncatingIfNeeded: index), UInt32(0), UInt32(7))
      bytes.writeBytes(payload)
      defragmenter.push(
        OrderedPacket(
          packet: try RTPPacket(parsing: ByteBuffer(sliceOf: bytes.array)),
          extendedSequence: Int64(index), time: MediaTime(ticks: 0, timescale: 90_000),
          arrival: Instant(nanoseconds: Int64(index)), isDiscontinuity: index == 0))
      while let unit = defragmenter.next() { units += unit.nalUnits.map(\.array) }
    }
    defragmenter.flush()
    while let unit = defragmenter.next() { units += unit.nalUnits.map(\.array) }
    // Parameter sets and delimiters may be put into another place, or left out if repeated.
    func counted(_ units: [[UInt8]]) -> [[UInt8]] {
      units.filter { !StrictReading.isMovable($0, isH264: codec == H264.codec) }
    }
    try requireEqual(counted(units), counted(strict.units), "of \(payloads)")
  }
}

/// Payloads by the tables of RFC 6184 (mode 1) and RFC 7798, in order and without loss.
private struct StrictReading {
  private let isH264: Bool
  private(set) var units: [[UInt8]] = []
  private var fragment: [UInt8]?

  init(isH264: Bool) { self.isH264 = isH264 }

  var isBetweenUnits: Bool { fragment == nil }

  /// Whether a payload is faultless.
  mutating func read(_ payload: [UInt8]) -> Bool {
    let header = isH264 ? 1 : 2
    guard payload.count > header, payload[0] & 0x80 == 0 else { return false }
    let type = isH264 ? payload[0] & 0x1F : payload[0] >> 1 & 0x3F
    let aggregate: UInt8 = isH264 ? 24 : 48
    let fragments: UInt8 = isH264 ? 28 : 49
    guard fragment == nil || type == fragments else { return false }
    if isPlain(type) { return append(payload) }
    if type == aggregate { return readEntries(payload.dropFirst(header)) }
    return type == fragments && readFragment(payload)
  }

  private func isPlain(_ type: UInt8) -> Bool { isH264 ? (1...23).contains(type) : type < 48 }

  private mutating func readEntries(_ entries: ArraySlice<UInt8>) -> Bool {
    var rest = entries
    while !rest.isEmpty {
      guard let high = rest.popFirst(), let low = rest.popFirst() else { return false }
      let length = Int(high) << 8 | Int(low)
      guard length > (isH264 ? 1 : 2), length <= rest.count else { return false }
      let unit = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
      guard isPlain(isH264 ? unit[0] & 0x1F : unit[0] >> 1 & 0x3F), append(unit) else {
        return false
      }
    }
    return true
  }

  private mutating func readFragment(_ payload: [UInt8]) -> Bool {
    let length = isH264 ? 2 : 3
    guard payload.count > length else { return false }
    let flags = payload[length - 1]
    let (isStart, isEnd) = (flags & 0x80 != 0, flags & 0x40 != 0)
    guard isStart == (fragment == nil), !(isStart && isEnd) else { return false }
    let type = flags & (isH264 ? 0x1F : 0x3F)
    guard isPlain(type), !isH264 || flags & 0x20 == 0 else { return false }
    let header =
      isH264 ? [payload[0] & 0xE0 | type] : [payload[0] & 0x81 | type << 1, payload[1]]
    // All fragments have the header of one unit.
    let former = fragment ?? header
    guard former.starts(with: header) else { return false }
    let unit = former + payload.dropFirst(length)
    fragment = isEnd ? nil : unit
    return isEnd ? append(unit) : true
  }

  /// Whether `unit` is one: without start codes, which emulation prevention keeps out, and ended.
  private mutating func append(_ unit: [UInt8]) -> Bool {
    guard unit[0] & 0x80 == 0, unit.last != 0 else { return false }
    for index in unit.indices.dropLast(2) {
      if unit[index] == 0, unit[index + 1] == 0, unit[index + 2] < 3 { return false }
    }
    units.append(unit)
    return true
  }

  static func isMovable(_ unit: [UInt8], isH264: Bool) -> Bool {
    guard let first = unit.first else { return false }
    return isH264 ? ![1, 2, 3, 4, 5].contains(first & 0x1F) : first >> 1 & 0x3F > 31
  }
}

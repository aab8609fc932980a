import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire

extension FuzzTarget {
  /// F8: payloads of H.264 in the order of their numbers, one after the other whatever went wrong
  /// (RFC 6184).
  static let h264 = FuzzTarget("h264") { choices in
    try VideoSession(codec: H264.codec, key: .h264).run(&choices)
  }

  /// F9: the same of H.265 (RFC 7798).
  static let h265 = FuzzTarget("h265") { choices in
    try VideoSession(codec: H265.codec, key: .h265).run(&choices)
  }
}

/// A key picture of one slice, with its parameter sets.
struct KeyPicture {
  let sets: [[UInt8]]
  let slice: [UInt8]

  static let h264 = KeyPicture(
    sets: ["674d401e9a640501eff35010101400000fa00001388010", "68ee3c80"].map(unhex),
    slice: [0x65, 0x88, 0x84, 0x00, 0x21, 0xFF, 0xD3])
  static let h265 = KeyPicture(
    sets: [
      "40010c01ffff016000000300b0000003000003005aac0c00000300040000030032a8",
      "420101016000000300b0000003000003005aa0058201e1636b92452fcdc1418141000003000100"
        + "0003000ca1", "4401c0f2c68d03b340",
    ].map(unhex), slice: [0x26, 0x01, 0xAF, 0x08, 0x42, 0x1F, 0xFD])
}

/// A defragmenter and what must hold of all that comes out of it.
private struct VideoSession {
  let codec: VideoCodec
  let key: KeyPicture

  /// Packets: flags, what the timestamp goes on by, and a payload behind its length.
  func run(_ choices: inout Choices) throws {
    let kind = choices.byte()
    var limits = VideoDefragmenter.Limits()
    if kind & 1 != 0 { (limits.accessUnitBytes, limits.unitsPerAccessUnit) = (2000, 8) }
    var parameters: [String: String] = [:]
    let isNumbered = kind & 2 != 0
    if isNumbered {
      parameters = [
        "packetization-mode": "2", "sprop-max-don-diff": "8", "sprop-depack-buf-nalus": "4",
      ]
    }
    var defragmenter = try VideoDefragmenter(
      media: MediaDescription(encodingName: codec.encodingName, formatParameters: parameters),
      limits: limits)
    var output = Output(limits: limits)
    if kind & 4 != 0 {
      for set in key.sets {
        try push(set, to: &defragmenter, &output, flags: 0, isNumbered: isNumbered)
      }
    }
    while !choices.isEmpty {
      let flags = choices.byte()
      let payload = choices.piece()
      try push(payload, to: &defragmenter, &output, flags: flags, isNumbered: nil)
      if flags & 0xE0 == 0xE0 {
        defragmenter.flush(isLeft: flags & 1 != 0)
        output.isLeft = output.isLeft || flags & 1 != 0
      }
      try output.take(from: &defragmenter)
    }
    defragmenter.flush()
    try output.take(from: &defragmenter)
    // What comes behind all that is whole again.
    for unit in key.sets + [key.slice] {
      try push(unit, to: &defragmenter, &output, flags: 0, isNumbered: isNumbered)
    }
    defragmenter.flush()
    try output.take(from: &defragmenter)
    // Numbers that came before may say that it is late.
    try require(
      isNumbered || output.last.map { $0.nalUnits.last?.array == key.slice } ?? false,
      "the next key picture is \(output.last.map { $0.nalUnits.map(\.array) } as Any)")
    try requireEqual(defragmenter.statistics.packets, output.pushed)
    try requireEqual(defragmenter.statistics.accessUnits, output.count)
    try require(output.reported <= output.lost, "\(output.reported) told of \(output.lost) lost")
    // What is left is not told of.
    if !output.isLeft { try requireEqual(output.reported, output.lost, "every loss is told once") }
  }

  private func push(
    _ payload: [UInt8], to defragmenter: inout VideoDefragmenter, _ output: inout Output,
    flags: UInt8, isNumbered: Bool?
  ) throws {
    var payload = payload
    // A decoding order number behind the header; H.264 has one only in aggregates.
    if isNumbered == true { payload = numbered(payload, output.number) }
    if isNumbered == true { output.number &+= 1 }
    output.pushed += 1
    if flags & 2 != 0 || isNumbered != nil { output.ticks = output.ticks &+ 3000 }
    if flags & 4 != 0 { output.ticks = output.ticks &- 1_000_000 }
    let lost = flags & 8 != 0 ? Int(flags >> 6) + 1 : 0
    output.lost += lost
    output.sequence += 1 + Int64(lost)
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(
      UInt8(0x80), UInt8(96 | (flags & 1 != 0 ? 0x80 : 0)),
      UInt16(truncatingIfNeeded: output.sequence), UInt32(truncatingIfNeeded: output.ticks),
      UInt32(7))
    bytes.writeBytes(payload)
    let buffer = ByteBuffer(sliceOf: bytes.array)
    defragmenter.push(
      OrderedPacket(
        packet: try RTPPacket(parsing: buffer), extendedSequence: output.sequence,
        time: MediaTime(ticks: output.ticks, timescale: 90_000),
        arrival: Instant(nanoseconds: output.sequence * 1_000_000), lostBefore: lost,
        isDiscontinuity: flags & 0x30 == 0x30 || output.pushed == 1))
    try output.take(from: &defragmenter)
    try requireEqual(buffer.array, bytes.array, "the input has changed")
  }

  private func numbered(_ unit: [UInt8], _ number: UInt16) -> [UInt8] {
    let digits = [UInt8(number >> 8), UInt8(number & 0xFF)]
    if codec == H265.codec { return unit.prefix(2) + digits + unit.dropFirst(2) }
    // STAP-B with one unit.
    return [0x79] + digits + [UInt8(unit.count >> 8), UInt8(unit.count & 0xFF)] + unit
  }

  private struct Output {
    let limits: VideoDefragmenter.Limits
    var pushed: UInt64 = 0
    var count: UInt64 = 0
    var lost = 0
    var reported = 0
    var isLeft = false
    var number: UInt16 = 0x4000
    var ticks: Int64 = 0
    var sequence: Int64 = 0x1_0000
    var last: AccessUnit?

    init(limits: VideoDefragmenter.Limits) { self.limits = limits }

    mutating func take(from defragmenter: inout VideoDefragmenter) throws {
      while let unit = defragmenter.next() {
        count += 1
        reported += unit.lostPackets
        last = unit
        var end = 0
        for part in unit.units {
          // Without gaps: each unit directly follows its start code.
          try require(part.offset == end + 4 && part.length > 0, "\(unit.units)")
          end = part.offset + part.length
        }
        try requireEqual(end, unit.bytes.readableBytes)
        try require(end > 0, "an access unit without bytes")
        try require(
          unit.integrity == .damaged || unit.units.allSatisfy(\.isWhole), "cut, but not damaged")
        try require(unit.firstArrival <= unit.lastArrival, "arrivals")
        try require(
          unit.bytes.readableBytes <= limits.accessUnitBytes + 4 * unit.units.count,
          "\(unit.bytes.readableBytes) bytes in a unit")
        if let format = unit.format {
          try require(
            (1...FormatDescription.maximumSide).contains(format.width)
              && (1...FormatDescription.maximumSide).contains(format.height), "\(format)")
        }
      }
    }
  }
}

/// Bytes written as hexadecimal digits.
func unhex(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map {
    UInt8(digits[$0] << 4 | digits[$0 + 1])
  }
}

import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// A defragmenter of sound with the stream that feeds it and its output.
struct SoundBench {
  private let media: MediaDescription
  private var sequence: Int64 = 0x1_0000 - 3
  private var isFirst = true
  private(set) var defragmenter: SoundDefragmenter
  private(set) var units: [SoundUnit] = []

  init(
    _ name: String?, clock: UInt32, channels: Int? = nil, _ parameters: [String: String] = [:],
    payloadType: UInt8 = 97, formats: FormatCatalogue = .standard
  ) throws {
    media = MediaDescription(
      kind: .audio, payloadType: payloadType, encodingName: name, clockRate: clock,
      channels: channels, formatParameters: parameters)
    defragmenter = try #require(SoundDefragmenter(media: media, formats: formats))
  }

  var statistics: SoundStatistics { defragmenter.statistics }

  /// The units so far, in hexadecimal.
  var hex: [String] { units.map(\.bytes.hex) }

  var ticks: [Int64] { units.map(\.time.ticks) }

  mutating func push(
    _ payload: [UInt8], at ticks: Int64, marker: Bool = true, lost: Int = 0,
    type: UInt8? = nil, isDiscontinuity: Bool? = nil
  ) {
    sequence += 1 + Int64(lost)
    var bytes = ByteBuffer(repeating: 0xA5, count: 7)
    bytes.writeMultipleIntegers(
      UInt8(0x80), (type ?? media.payloadType ?? 0) | (marker ? 0x80 : 0),
      UInt16(truncatingIfNeeded: sequence), UInt32(truncatingIfNeeded: ticks), UInt32(0x5EED))
    bytes.writeBytes(payload)
    bytes.moveReaderIndex(forwardBy: 7)
    guard let packet = try? RTPPacket(parsing: bytes) else {
      preconditionFailure("a header without options always parses")
    }
    defragmenter.push(
      OrderedPacket(
        packet: packet, extendedSequence: sequence,
        time: MediaTime(ticks: ticks, timescale: media.clockRate),
        arrival: Instant(nanoseconds: sequence * 1_000_000), lostBefore: lost,
        isDiscontinuity: isDiscontinuity ?? isFirst))
    isFirst = false
    pull()
  }

  mutating func flush() {
    defragmenter.flush()
    pull()
  }

  private mutating func pull() {
    while let unit = defragmenter.next() { units.append(unit) }
  }
}

/// The header fields of RFC 3640, as a sender writes them.
struct AccessUnitPacketizer {
  var sizeLength = 13
  var indexLength = 3
  var indexDeltaLength = 3
  var compositionLength = 0
  var decodingLength = 0
  var streamStateLength = 0
  var hasRandomAccess = false
  var auxiliaryLength = 0

  static let highRate: [String: String] = [
    "mode": "AAC-hbr", "sizelength": "13", "indexlength": "3", "indexdeltalength": "3",
    "config": "1190",
  ]

  /// A packet of `units`, with the number of units skipped before each.
  func packet(
    _ units: [[UInt8]], skipped: [Int] = [], sizes: [Int] = [], offsets: [Int?] = []
  ) -> [UInt8] {
    var headers = Bitstream.BitWriter()
    var bits = 0
    func write(_ value: UInt32, _ count: Int) {
      headers.append(value, bits: count)
      bits += count
    }
    for (number, unit) in units.enumerated() {
      write(UInt32(number < sizes.count ? sizes[number] : unit.count), sizeLength)
      write(
        UInt32(number < skipped.count ? skipped[number] : 0),
        number == 0 ? indexLength : indexDeltaLength)
      if compositionLength > 0 {
        let offset = number < offsets.count ? offsets[number] : nil
        write(offset == nil ? 0 : 1, 1)
        if let offset { write(UInt32(truncatingIfNeeded: offset), compositionLength) }
      }
      if decodingLength > 0 {
        write(1, 1)
        write(7, decodingLength)
      }
      if hasRandomAccess { write(1, 1) }
      write(5, streamStateLength)
    }
    var packet: [UInt8] = []
    if bits > 0 { packet += [UInt8(bits >> 8), UInt8(bits & 0xFF)] + headers.plain }
    if auxiliaryLength > 0 {
      // Eleven bits of something that this receiver does not know.
      var section = Bitstream.BitWriter()
      section.append(11, bits: auxiliaryLength)
      section.append(0x7FF, bits: 11)
      packet += section.plain
    }
    return packet + units.joined()
  }
}

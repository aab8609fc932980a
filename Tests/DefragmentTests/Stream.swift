import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// A stream of packets as ordering hands them on, made from payloads.
struct Stream {
  static let ssrc: UInt32 = 0x5EED

  private var unwrapped: Int64 = 0x1_0000 + 100
  private var isFirst = true

  /// The next packet: `payload` at `ticks`, with `lost` packets missing before it.
  mutating func packet(
    _ payload: [UInt8], at ticks: Int64 = 0, marker: Bool = false, lost: Int = 0,
    isDiscontinuity: Bool? = nil, beginsOtherSource: Bool = false
  ) -> OrderedPacket {
    unwrapped += 1 + Int64(lost)
    defer { isFirst = false }
    let sequence = UInt16(truncatingIfNeeded: unwrapped)
    // Seven bytes before the packet, so that assuming a reader index of 0 fails.
    var bytes = ByteBuffer(repeating: 0xA5, count: 7)
    bytes.writeMultipleIntegers(
      UInt8(0x80), UInt8(96 | (marker ? 0x80 : 0)), sequence,
      UInt32(truncatingIfNeeded: ticks), Self.ssrc)
    bytes.writeBytes(payload)
    bytes.moveReaderIndex(forwardBy: 7)
    guard let packet = try? RTPPacket(parsing: bytes) else {
      preconditionFailure("a header without options always parses")
    }
    return OrderedPacket(
      packet: packet, extendedSequence: unwrapped,
      time: MediaTime(ticks: ticks, timescale: 90_000),
      arrival: Instant(nanoseconds: unwrapped * 1_000_000), lostBefore: lost,
      isDiscontinuity: isDiscontinuity ?? isFirst, beginsOtherSource: beginsOtherSource)
  }
}

/// A defragmenter with the stream that feeds it and its output.
struct Bench {
  var stream = Stream()
  var defragmenter: VideoDefragmenter
  /// Whether each packet comes soon after the one before it, so that a marker which may be wrong
  /// has not waited long enough.
  let isSwift: Bool
  private(set) var accessUnits: [AccessUnit] = []

  init(
    _ codec: VideoCodec, parameters: [String: String] = [:], isSwift: Bool = false
  ) throws {
    self.isSwift = isSwift
    defragmenter = try VideoDefragmenter(
      media: MediaDescription(
        encodingName: codec.encodingName, formatParameters: parameters))
  }

  var statistics: DefragmentStatistics { defragmenter.statistics }

  mutating func push(
    _ payload: [UInt8], at ticks: Int64 = 0, marker: Bool = false, lost: Int = 0,
    isDiscontinuity: Bool? = nil, beginsOtherSource: Bool = false
  ) {
    push(
      stream.packet(
        payload, at: ticks, marker: marker, lost: lost, isDiscontinuity: isDiscontinuity,
        beginsOtherSource: beginsOtherSource))
  }

  mutating func push(_ packet: OrderedPacket) {
    defragmenter.push(packet)
    if !isSwift { defragmenter.release() }
    pull()
  }

  /// No packet comes for a while.
  mutating func wait() {
    defragmenter.release()
    pull()
  }

  mutating func push(_ hex: String, at ticks: Int64 = 0, marker: Bool = false, lost: Int = 0) {
    push(bytes(hex), at: ticks, marker: marker, lost: lost)
  }

  mutating func flush(isLeft: Bool = false) {
    defragmenter.flush(isLeft: isLeft)
    pull()
  }

  /// Returns and removes the output so far.
  mutating func take() -> [AccessUnit] {
    defer { accessUnits = [] }
    return accessUnits
  }

  private mutating func pull() {
    while let unit = defragmenter.next() { accessUnits.append(unit) }
  }
}

extension AccessUnit {
  /// All NAL units in hex, cut ones marked with an ellipsis.
  var hex: [String] { units.map { bytes(of: $0).hex + ($0.isWhole ? "" : "…") } }

  /// The NAL units that are whole, in hex.
  var wholeHex: [String] { units.filter(\.isWhole).map { bytes(of: $0).hex } }

  /// Whether the bytes are exactly the units with a four-byte start code before each.
  var isTidy: Bool { bytes == AnnexB.stream(of: nalUnits) }
}

extension DefragmentStatistics {
  /// Everything that was not as it should be.
  var troubles: UInt64 {
    let good: Set<String> = ["packets", "units", "access_units"]
    return counts.filter { !good.contains($0.name) }.reduce(0) { $0 + $1.count }
  }

  /// The counters that are not zero, without the totals.
  var troubleNames: Set<String> {
    Set(counts.filter { $0.count > 0 }.map(\.name))
      .subtracting(["packets", "units", "access_units"])
  }
}

extension ByteBuffer {
  var hex: String {
    readableBytesView.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }
}

extension [UInt8] {
  var hex: String { ByteBuffer(bytes: self).hex }
}

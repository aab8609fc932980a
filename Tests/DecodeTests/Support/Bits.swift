import Bitstream
import Decode
import Defragment
import Foundation
import NIOCore
import Outputs
import RTPWire

/// Bits in the order of the standards' syntax tables.
struct BitWriter {
  private(set) var bits: [Bool] = []

  mutating func u(_ count: Int, _ value: Int) {
    for shift in (0..<count).reversed() { bits.append(value >> shift & 1 == 1) }
  }

  mutating func ue(_ value: Int) {
    let length = (value + 1).bitWidth - (value + 1).leadingZeroBitCount
    u(2 * length - 1, value + 1)
  }

  mutating func align() { while bits.count % 8 != 0 { bits.append(false) } }

  /// The bytes of a NAL unit with `header`, the stop bit and emulation prevention.
  func nalUnit(header: UInt8) -> [UInt8] {
    var writer = self
    writer.u(1, 1)
    writer.align()
    var bytes = [header]
    for start in stride(from: 0, to: writer.bits.count, by: 8) {
      let byte = writer.bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
      if byte <= 3, bytes.suffix(2) == [0, 0] { bytes.append(3) }
      bytes.append(byte)
    }
    return bytes
  }
}

extension BitWriter {
  /// An H.264 picture parameter set that chooses only its three last flags (7.3.2.2), for CAVLC.
  static func pictureParameterSet(lastFlags: Int = 0) -> [UInt8] {
    var bits = BitWriter()
    bits.ue(0)
    bits.ue(0)
    bits.u(2, 0)
    for _ in 0..<3 { bits.ue(0) }
    bits.u(3, 0)
    for _ in 0..<3 { bits.ue(0) }
    bits.u(3, lastFlags)
    return bits.nalUnit(header: 0x68)
  }
}

/// Reads what `BitWriter` writes.
struct BitReader {
  private let bits: [Bool]
  private(set) var position = 0

  init(_ bytes: some Sequence<UInt8>) {
    bits = bytes.flatMap { byte in (0..<8).reversed().map { byte >> $0 & 1 == 1 } }
  }

  mutating func u(_ count: Int) -> Int {
    defer { position += count }
    return bits[position..<position + count].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
  }

  mutating func ue() -> Int {
    var zeros = 0
    while u(1) == 0 { zeros += 1 }
    return (1 << zeros) - 1 + u(zeros)
  }

  var readBits: ArraySlice<Bool> { bits[..<position] }
}

/// An H.264 stream of fields in separate access units, as broadcast encoders send them.
enum FieldStream {
  /// In decoding order, with `count` B pictures between two others that they refer to.
  static func accessUnits(frames: Int, bidirectional count: Int = 0) -> [AccessUnit] {
    let others = stride(from: count + 1, to: frames, by: count + 1)
    let order = [0] + others.flatMap { [$0] + Array($0 - count..<$0) }
    let fields = order.flatMap { [(frame: $0, isBottom: false), (frame: $0, isBottom: true)] }
    return fields.enumerated().map { number, field in
      let isFirst = number == 0
      var units = [slice(frame: field.frame, isBottom: field.isBottom, bidirectional: count)]
      if isFirst {
        units =
          [
            sequenceParameterSet(references: count == 0 ? 1 : 2),
            BitWriter.pictureParameterSet(lastFlags: 0b100),
          ] + units
      }
      var bytes = ByteBuffer()
      for unit in units { bytes.writeBytes([0, 0, 0, 1] + unit) }
      return AccessUnit(
        codec: .testH264, bytes: bytes, units: AnnexB.units(in: bytes, codec: .testH264),
        time: MediaTime(
          ticks: Int64(2 * field.frame + (field.isBottom ? 1 : 0)) * 1500, timescale: 90_000),
        firstArrival: Instant(nanoseconds: Int64(number) * 1000),
        lastArrival: Instant(nanoseconds: Int64(number) * 1000 + 500), isRandomAccess: isFirst)
    }
  }

  /// Main profile, 16 × 32, fields.
  private static func sequenceParameterSet(references: Int) -> [UInt8] {
    var bits = BitWriter()
    bits.u(24, 77 << 16 | 30)
    for value in [0, 0, 0, 4, references] { bits.ue(value) }
    bits.u(1, 0)
    bits.ue(0)
    bits.ue(0)
    for value in [0, 0, 1, 0, 0] { bits.u(1, value) }
    return bits.nalUnit(header: 0x67)
  }

  /// One macroblock of PCM, darker in the top field.
  private static func slice(frame: Int, isBottom: Bool, bidirectional count: Int) -> [UInt8] {
    let isIDR = frame == 0 && !isBottom
    let isBidirectional = frame % (count + 1) != 0
    var bits = BitWriter()
    bits.ue(0)
    bits.ue(isBidirectional ? 6 : 7)
    bits.ue(0)
    // One more than that of the last picture referred to, which comes before it in the stream.
    bits.u(4, (frame / (count + 1) + (isBidirectional ? 2 : 0)) % 16)
    bits.u(1, 1)
    bits.u(1, isBottom ? 1 : 0)
    if isIDR { bits.ue(0) }
    bits.u(8, (frame * 2 + (isBottom ? 1 : 0)) % 256)
    if isBidirectional {
      // direct_spatial_mv_pred_flag, and no changes of the reference lists.
      bits.u(4, 0b1000)
    } else {
      bits.u(isIDR ? 2 : 1, 0)
    }
    bits.ue(0)
    bits.ue(1)
    // mb_skip_run; the types of B slices come before those of intra slices (table 7-14).
    if isBidirectional { bits.ue(0) }
    bits.ue(isBidirectional ? 23 + 25 : 25)
    bits.align()
    for _ in 0..<384 { bits.u(8, (isBottom ? 150 : 100) + frame) }
    return bits.nalUnit(header: isIDR ? 0x65 : isBidirectional ? 0x01 : 0x61)
  }
}

extension AccessUnit {
  /// The same unit with other bytes.
  func with(bytes: [UInt8]) -> AccessUnit { copy(bytes: ByteBuffer(bytes: bytes), format: format) }

  /// The same unit with another description.
  func with(format: FormatDescription?) -> AccessUnit { copy(bytes: bytes, format: format) }

  /// The same unit of H.264 with the VUI cut off its sequence parameter set, as many cameras send
  /// it.
  var withoutVUI: AccessUnit { sayingReorderDepth(nil) }

  /// The same unit of H.264 with a VUI that says nothing but how many pictures are reordered, true
  /// or not.
  func sayingReorderDepth(_ depth: Int?) -> AccessUnit {
    let units = AnnexB.nalUnits(of: Array(bytes.readableBytesView)).map { unit in
      unit[0] & 0x1F == 7 ? Self.replacingVUI(of: unit, reorderDepth: depth) : unit
    }
    return with(bytes: units.flatMap { [0, 0, 0, 1] + $0 })
  }

  /// Reads up to `vui_parameters_present_flag` (H.264 §7.3.2.1.1) and ends there, or with a VUI
  /// (§E.1.1).
  private static func replacingVUI(of unit: [UInt8], reorderDepth: Int?) -> [UInt8] {
    var reader = BitReader(unit.dropFirst())
    let profile = reader.u(8)
    _ = reader.u(16)
    _ = reader.ue()
    if profile >= 100 {
      _ = reader.ue()
      _ = reader.ue()
      _ = reader.ue()
      _ = reader.u(2)
    }
    _ = reader.ue()
    if reader.ue() == 0 { _ = reader.ue() }
    _ = reader.ue()
    _ = reader.u(1)
    _ = reader.ue()
    _ = reader.ue()
    if reader.u(1) == 0 { _ = reader.u(1) }
    _ = reader.u(1)
    if reader.u(1) == 1 { for _ in 0..<4 { _ = reader.ue() } }
    var writer = BitWriter()
    for bit in reader.readBits { writer.u(1, bit ? 1 : 0) }
    guard let reorderDepth else {
      writer.u(1, 0)
      return writer.nalUnit(header: unit[0])
    }
    // Of all that a VUI may say, bitstream_restriction_flag alone.
    writer.u(10, 0b10_0000_0001)
    writer.u(1, 1)
    for value in [0, 0, 16, 16, reorderDepth, 16] { writer.ue(value) }
    return writer.nalUnit(header: unit[0])
  }

  /// The same unit at another time.
  func at(_ ticks: Int64) -> AccessUnit {
    AccessUnit(
      codec: codec, bytes: bytes, units: units, time: MediaTime(ticks: ticks, timescale: 90_000),
      firstArrival: firstArrival, lastArrival: lastArrival, isRandomAccess: isRandomAccess,
      dependency: dependency, recoveryPoint: recoveryPoint, format: format)
  }

  /// The unit as where packets before it are missing.
  var behindLoss: AccessUnit {
    AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, integrity: .afterLoss, gaps: [Gap(unitIndex: 0, packets: 1)],
      isRandomAccess: isRandomAccess, dependency: dependency, recoveryPoint: recoveryPoint,
      format: format)
  }

  /// The unit without slices, at which decoding cannot begin.
  var withoutPicture: AccessUnit {
    let isH264 = codec == .testH264
    let rest = AnnexB.nalUnits(of: Array(bytes.readableBytesView)).filter { unit in
      isH264 ? unit[0] & 0x1F > 6 : unit[0] >> 1 & 0x3F >= 32
    }
    let bytes = ByteBuffer(bytes: rest.flatMap { [0, 0, 0, 1] + $0 })
    return AccessUnit(
      codec: codec, bytes: bytes, units: AnnexB.units(in: bytes, codec: codec), time: time,
      firstArrival: firstArrival, lastArrival: lastArrival, format: format)
  }

  /// The unit of H.265 with bits turned in the middle of its first slice.
  var withWrongSlice: AccessUnit {
    guard let slice = units.first(where: { $0.type < 32 }) else { return self }
    var bytes = Array(self.bytes.readableBytesView)
    for index in slice.offset + slice.length / 2..<slice.offset + slice.length * 3 / 4 {
      bytes[index] = ~bytes[index] | 1
    }
    return with(bytes: bytes)
  }

  private func copy(bytes: ByteBuffer, format: FormatDescription?) -> AccessUnit {
    AccessUnit(
      codec: codec, bytes: bytes, units: AnnexB.units(in: bytes, codec: codec), time: time,
      firstArrival: firstArrival,
      lastArrival: lastArrival, isRandomAccess: isRandomAccess, format: format)
  }
}

/// What the process holds in memory, by `/proc/self/status`.
func residentBytes() throws -> Int {
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
  return (Int(line.filter(\.isNumber)) ?? 0) << 10
}

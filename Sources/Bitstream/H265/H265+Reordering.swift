import NIOCore

extension H265 {
  /// `set` with `sps_max_num_reorder_pics` 0 for all sub-layers (§7.4.3.2.1).
  ///
  /// - Returns: `nil` if it says that already, is no sequence parameter set, or cannot be read.
  static func withoutReordering(_ set: ByteBuffer) -> ByteBuffer? {
    let type = Self.type(of: NALUnitHead(of: set))
    guard type == NALUnitType.sequenceParameterSet.rawValue,
      let known = try? SequenceParameterSet(parsing: set), known.format.reorderDepth != 0
    else { return nil }
    let payload = EmulationPrevention.removed(from: set.dropping(bytes: 2))
    guard let last = payload.readableBytesView.lastIndex(where: { $0 != 0 }) else { return nil }
    // The stop bit of rbsp_trailing_bits.
    let length =
      8 * (last - payload.readerIndex + 1) - 1
      - payload.readableBytesView[last].trailingZeroBitCount
    var reader = BitReader(plain: payload)
    var writer = BitWriter()
    do {
      try writer.append(bits: known.orderingPlace.start, from: &reader)
      for _ in 0..<known.orderingPlace.layers {
        writer.append(unsigned: try reader.unsigned())
        _ = try reader.unsigned()
        writer.append(unsigned: 0)
        writer.append(unsigned: try reader.unsigned())
      }
      guard reader.position <= length else { return nil }
      try writer.append(bits: length - reader.position, from: &reader)
    } catch { return nil }
    writer.align()
    return writer.unit(header: set.getBytes(at: set.readerIndex, length: 2) ?? [])
  }

  /// `hvc1.` with profile, compatibility, tier, level and constraints (ISO/IEC 14496-15 annex E.3).
  static func codecsParameter(of sets: [ByteBuffer]) -> String? {
    let first = sets.first {
      Self.type(of: NALUnitHead(of: $0)) == NALUnitType.sequenceParameterSet.rawValue
    }
    guard let first else { return nil }
    // profile_tier_level follows a byte of other things (§7.3.2.2.1).
    let payload = EmulationPrevention.removed(from: first.dropping(bytes: 2))
    guard let bytes = payload.getBytes(at: payload.readerIndex + 1, length: 12) else { return nil }
    let space = ["", "A", "B", "C"][Int(bytes[0] >> 6)]
    let flags = bytes[1...4].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    let reversed = (0..<32).reduce(0 as UInt32) { $0 << 1 | (flags >> UInt32($1) & 1) }
    var constraints = Array(bytes[5...10])
    while constraints.last == 0 { constraints.removeLast() }
    let parts =
      ["hvc1", space + String(bytes[0] & 0x1F), String(reversed, radix: 16)]
      + ["\(bytes[0] & 0x20 == 0 ? "L" : "H")\(bytes[11])"]
      + constraints.map { String($0, radix: 16) }
    return parts.joined(separator: ".")
  }
}

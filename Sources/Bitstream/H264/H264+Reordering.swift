import NIOCore

extension H264 {
  /// `set` with `max_num_reorder_frames` 0 (E.2.1), and with room for its reference pictures only.
  ///
  /// - Returns: `nil` if it says that already, is no sequence parameter set, or is cut.
  static func withoutReordering(_ set: ByteBuffer) -> ByteBuffer? {
    let type = Self.type(of: NALUnitHead(of: set))
    guard type == NALUnitType.sequenceParameterSet.rawValue,
      let known = try? SequenceParameterSet(parsing: set), let place = known.reorderingPlace,
      place.depth == nil || known.format.reorderDepth != 0
    else { return nil }
    var reader = BitReader(set.dropping(bytes: 1))
    var writer = BitWriter()
    do {
      try writer.append(
        bits: place.depth ?? place.restriction ?? place.usability, from: &reader)
    } catch { return nil }
    if place.restriction == nil {
      // There is usability information, but none of aspect, overscan, colour, chroma, timing, two
      // hypothetical decoders and picture structure.
      writer.append(true)
      writer.append(0, bits: 8)
    }
    if place.depth == nil {
      // There are restrictions, but none of where motion leads, bytes and bits (0), and lengths of
      // motion (16).
      writer.append(true)
      writer.append(true)
      for value in [0, 0, 16, 16] as [UInt32] { writer.append(unsigned: value) }
    }
    writer.append(unsigned: 0)
    writer.append(unsigned: UInt32(clamping: place.references))
    writer.align()
    return writer.unit(header: set.getBytes(at: set.readerIndex, length: 1) ?? [])
  }

  /// `avc1.` with profile, constraints and level in hexadecimal digits (RFC 6381 §3.3).
  static func codecsParameter(of sets: [ByteBuffer]) -> String? {
    let first = sets.first {
      Self.type(of: NALUnitHead(of: $0)) == NALUnitType.sequenceParameterSet.rawValue
    }
    guard let first, let bytes = first.getBytes(at: first.readerIndex + 1, length: 3) else {
      return nil
    }
    return "avc1." + bytes.map(\.hexadecimal).joined()
  }
}

extension UInt8 {
  /// Two digits.
  fileprivate var hexadecimal: String {
    let digits = String(self, radix: 16)
    return digits.count == 1 ? "0" + digits : digits
  }
}

import NIOCore

extension H265 {
  /// `HEVCDecoderConfigurationRecord` (ISO/IEC 14496-15 §8.3.3.1): the parameter sets as headers of
  /// files have them, for samples with lengths of four bytes.
  ///
  /// - Parameter sets: video, sequence and picture parameter sets, without start codes.
  /// - Returns: `nil` if no sequence parameter set can be read, or not all sets have room.
  static func configurationRecord(of sets: [ByteBuffer]) -> ByteBuffer? {
    let arrays = codec.parameterSetTypes.map { type in
      (type, sets.filter { Self.type(of: NALUnitHead(of: $0)) == type })
    }
    let sequences = sets.filter {
      Self.type(of: NALUnitHead(of: $0)) == NALUnitType.sequenceParameterSet.rawValue
    }
    guard let first = sequences.first,
      let format = try? SequenceParameterSet(parsing: first).format, sets.count <= Int(UInt16.max),
      sets.allSatisfy({ $0.readableBytes <= Int(UInt16.max) })
    else { return nil }
    // sps_max_sub_layers_minus1 and sps_temporal_id_nesting_flag, then profile_tier_level, of which
    // the record has the general part (§7.3.3).
    var reader = BitReader(first.dropping(bytes: 2))
    guard (try? reader.skip(4)) != nil, let layers = try? reader.bits(3),
      let isNested = try? reader.bit(), let profile = try? reader.bytes(12)
    else { return nil }
    var record = ByteBuffer(bytes: [1])
    record.writeImmutableBuffer(profile)
    // min_spatial_segmentation_idc and parallelismType: unknown.
    record.writeBytes([
      0xF0, 0, 0xFC, 0xFC | format.chroma.rawValue, 0xF8 | UInt8(format.lumaBitDepth - 8),
      0xF8 | UInt8(format.chromaBitDepth - 8),
    ])
    // No rate, and lengths of four bytes.
    record.writeInteger(0 as UInt16)
    record.writeInteger(UInt8(layers + 1) << 3 | (isNested ? 4 : 0) | 3)
    record.writeInteger(UInt8(arrays.count { !$0.1.isEmpty }))
    for (type, sets) in arrays where !sets.isEmpty {
      // array_completeness: players that know `hvc1` alone insist on it.
      record.writeInteger(0x80 | type)
      record.writeInteger(UInt16(sets.count))
      for set in sets { record.write(withLength: set) }
    }
    return record
  }
}

import NIOCore

extension H264 {
  /// `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15 §5.3.3.1): the parameter sets as headers of
  /// files have them, for samples with lengths of four bytes.
  ///
  /// - Parameter sets: sequence and picture parameter sets, without start codes.
  /// - Returns: `nil` if no sequence parameter set can be read, or not all sets have room.
  static func configurationRecord(of sets: [ByteBuffer]) -> ByteBuffer? {
    func every(_ type: NALUnitType) -> [ByteBuffer] {
      sets.filter { Self.type(of: NALUnitHead(of: $0)) == type.rawValue }
    }
    let sequences = every(.sequenceParameterSet)
    let pictures = every(.pictureParameterSet)
    guard let first = sequences.first,
      let format = try? SequenceParameterSet(parsing: first).format,
      let profile = first.getBytes(at: first.readerIndex + 1, length: 3),
      sequences.count <= 31, pictures.count <= 255,
      sets.allSatisfy({ $0.readableBytes <= Int(UInt16.max) })
    else { return nil }
    var record = ByteBuffer(bytes: [1] + profile + [0xFC | 3, 0xE0 | UInt8(sequences.count)])
    for set in sequences { record.write(withLength: set) }
    record.writeInteger(UInt8(pictures.count))
    for set in pictures { record.write(withLength: set) }
    if ![66, 77, 88].contains(format.profile) {
      record.writeBytes([
        0xFC | format.chroma.rawValue, 0xF8 | UInt8(format.lumaBitDepth - 8),
        0xF8 | UInt8(format.chromaBitDepth - 8), 0,
      ])
    }
    return record
  }
}

extension ByteBuffer {
  /// Writes `set` behind its length of two bytes, which has to be enough.
  mutating func write(withLength set: ByteBuffer) {
    writeInteger(UInt16(clamping: set.readableBytes))
    writeImmutableBuffer(set)
  }
}

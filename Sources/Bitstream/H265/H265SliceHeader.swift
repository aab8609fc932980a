public import NIOCore

extension H265 {
  /// The part of a slice segment header that identifies its picture and the pictures that stay for
  /// reference (§7.3.6.1).
  public struct SliceHeader: Sendable {
    /// Whether the slice is the first of its picture.
    public let isFirst: Bool
    /// `pic_output_flag`.
    public let isShown: Bool
    public let pictureSet: Int
    /// `slice_pic_order_cnt_lsb`; 0 in IDR pictures.
    public let orderCount: UInt32
    public let references: ReferencePictureSet
    public let hasLongTermReferences: Bool

    /// Reads the header of `unit`, which begins with the NAL unit header.
    ///
    /// - Throws: when it ends early, is invalid, refers to unknown parameter sets, or belongs to a
    ///   dependent slice segment, which has none of these fields.
    public init(parsing unit: ByteBuffer, with sets: CodingParameterSets) throws {
      let type = Self.type(of: unit)
      var reader = BitReader(unit.dropping(bytes: 2))
      (isFirst, pictureSet) = try Self.readStart(&reader, type: type)
      guard let picture = sets.picture(pictureSet),
        let sequence = sets.sequence(picture.sequenceIdentifier)
      else { throw ParameterSetError.outOfRange(field: "slice_pic_parameter_set_id") }
      if !isFirst {
        if picture.hasDependentSlices, try reader.bit() {
          throw ParameterSetError.outOfRange(field: "dependent_slice_segment_flag")
        }
        try reader.skip(sequence.addressLength)
      }
      try reader.skip(picture.extraHeaderBits)
      _ = try reader.unsigned(upTo: 2, "slice_type")
      isShown = picture.hasOutputFlag ? try reader.bit() : true
      if sequence.hasSeparatePlanes { try reader.skip(2) }
      guard type != NALUnitType.idrWRADL.rawValue, type != NALUnitType.idrNLP.rawValue else {
        (orderCount, references) = (0, ReferencePictureSet(entries: []))
        hasLongTermReferences = false
        return
      }
      orderCount = try reader.bits(sequence.orderBits)
      references = try Self.readReferences(&reader, sequence.referencePictureSets)
      hasLongTermReferences = try Self.readLongTermCount(&reader, sequence) > 0
    }

    /// The identifier of the picture parameter set that `slice` names, NAL unit header first.
    public static func pictureSet(of slice: ByteBuffer) -> Int? {
      var reader = BitReader(slice.dropping(bytes: 2))
      return (try? readStart(&reader, type: type(of: slice)))?.pictureSet
    }

    private static func type(of unit: ByteBuffer) -> UInt8 {
      unit.getInteger(at: unit.readerIndex, as: UInt8.self).map { $0 >> 1 & 0x3F } ?? 0
    }

    /// Reads what can be read without parameter sets.
    private static func readStart(
      _ reader: inout BitReader, type: UInt8
    ) throws -> (isFirst: Bool, pictureSet: Int) {
      let isFirst = try reader.bit()
      // no_output_of_prior_pics_flag, of the pictures at which decoding can begin.
      if (16...23).contains(type) { _ = try reader.bit() }
      return (isFirst, try reader.unsigned(upTo: 63, "slice_pic_parameter_set_id"))
    }

    private static func readReferences(
      _ reader: inout BitReader, _ sets: [ReferencePictureSet]
    ) throws -> ReferencePictureSet {
      guard try reader.bit() else {
        return try ReferencePictureSet(&reader, after: sets, isInSlice: true)
      }
      let index = Int(try reader.bits(bitsToTell(sets.count)))
      guard sets.indices.contains(index) else {
        throw ParameterSetError.outOfRange(field: "short_term_ref_pic_set_idx")
      }
      return sets[index]
    }

    private static func readLongTermCount(
      _ reader: inout BitReader, _ sequence: CodingParameters
    ) throws -> Int {
      guard let signalled = sequence.longTermReferenceCount else { return 0 }
      let listed = signalled > 0 ? try reader.unsigned(upTo: 32, "num_long_term_sps") : 0
      return listed + (try reader.unsigned(upTo: 32, "num_long_term_pics"))
    }
  }
}

public import NIOCore

extension H264 {
  /// The part of a slice header that identifies its picture and the picture's output order
  /// (§7.3.3).
  public struct SliceHeader: Sendable {
    /// Whether the slice begins with the first macroblock.
    public let isFirst: Bool
    public let isIDR: Bool
    /// `nal_ref_idc` is not 0.
    public let isReference: Bool
    public let pictureSet: Int
    public let frameNumber: Int
    /// The field the slice belongs to; `nil` in a frame.
    public let field: Field?
    /// `idr_pic_id`; 0 in other pictures.
    public let identifier: Int
    /// `pic_order_cnt_lsb`.
    public let orderLow: Int
    /// `delta_pic_order_cnt_bottom` or `delta_pic_order_cnt`, whichever is present.
    public let orderDifferences: [Int]
    public let redundancy: Int

    /// Positioned after the part that was read.
    private let rest: BitReader
    private let kind: Kind

    public var isBidirectional: Bool { kind == .bidirectional }

    /// `slice_type` modulo 5 (table 7-6).
    private enum Kind: Int {
      case predicted, bidirectional, intra, switchingPredicted, switchingIntra
    }

    /// Reads a header up to the fields that identify its picture.
    ///
    /// - Parameters:
    ///   - head: the NAL unit's first bytes.
    ///   - body: what follows the NAL unit header.
    ///   - sets: the parameter sets that came before.
    /// - Throws: when the header ends early, is invalid, or refers to unknown parameter sets.
    public init(head: NALUnitHead, body: ByteBuffer, with sets: CodingParameterSets) throws {
      isIDR = H264.type(of: head) == NALUnitType.codedSliceOfIDRPicture.rawValue
      isReference = head[0] & 0x60 != 0
      var reader = BitReader(body)
      (isFirst, kind, pictureSet) = try Self.readStart(&reader)
      guard let picture = sets.picture(pictureSet),
        let sequence = sets.sequence(picture.sequenceIdentifier)
      else { throw ParameterSetError.outOfRange(field: "pic_parameter_set_id") }
      if sequence.hasSeparatePlanes { try reader.skip(2) }
      frameNumber = Int(try reader.bits(sequence.frameNumberBits))
      let isField = sequence.isFramesOnly ? false : try reader.bit()
      field = isField ? (try reader.bit() ? .bottom : .top) : nil
      identifier = isIDR ? try reader.unsigned(upTo: 65_535, "idr_pic_id") : 0
      let tellsBoth = picture.tellsFieldOrder && !isField
      var (low, differences): (Int, [Int]) = (0, [])
      switch sequence.order {
      case .lowBits(let count):
        low = Int(try reader.bits(count))
        if tellsBoth { differences.append(Int(try reader.signed())) }
      case .cycle(let cycle) where cycle.tellsDifferences:
        differences.append(Int(try reader.signed()))
        if tellsBoth { differences.append(Int(try reader.signed())) }
      case .cycle, .decoding: break
      }
      (orderLow, orderDifferences) = (low, differences)
      redundancy =
        picture.hasRedundantPictures ? try reader.unsigned(upTo: 127, "redundant_pic_cnt") : 0
      rest = reader
    }

    /// The identifier of the picture parameter set that `slice` names, NAL unit header first.
    public static func pictureSet(of slice: ByteBuffer) -> Int? {
      var reader = BitReader(slice.dropping(bytes: 1))
      return (try? readStart(&reader))?.pictureSet
    }

    /// Reads what can be read without parameter sets.
    private static func readStart(
      _ reader: inout BitReader
    ) throws -> (isFirst: Bool, kind: Kind, pictureSet: Int) {
      let isFirst = try reader.unsigned(upTo: 1 << 18, "first_mb_in_slice") == 0
      let kind = Kind(rawValue: try reader.unsigned(upTo: 9, "slice_type") % 5) ?? .intra
      return (isFirst, kind, try reader.unsigned(upTo: 255, "pic_parameter_set_id"))
    }

    /// What all slices of one picture share, and slices of the next do not (§7.4.1.2.4).
    public var identity: PictureIdentity {
      PictureIdentity(
        frameNumber: frameNumber, pictureSet: pictureSet, field: field, isReference: isReference,
        isIDR: isIDR, identifier: identifier, orderLow: orderLow,
        orderDifferences: orderDifferences, isRedundant: redundancy > 0)
    }

    /// Whether the picture resets the order counts after it (`memory_management_control_operation`
    /// 5); `false` also when the header cannot be read that far.
    public func resetsOrder(with sets: CodingParameterSets) -> Bool {
      (try? readReset(with: sets)) ?? false
    }

    /// Reads the rest of the header up to `dec_ref_pic_marking` (§7.3.3.3).
    private func readReset(with sets: CodingParameterSets) throws -> Bool {
      guard isReference, !isIDR, let picture = sets.picture(pictureSet),
        let sequence = sets.sequence(picture.sequenceIdentifier)
      else { return false }
      var reader = rest
      let lists =
        kind == .bidirectional ? 2 : kind == .predicted || kind == .switchingPredicted ? 1 : 0
      if kind == .bidirectional { _ = try reader.bit() }
      var counts = picture.defaultReferences
      if lists > 0, try reader.bit() {
        for list in 0..<lists {
          counts[list] = 1 + (try reader.unsigned(upTo: 31, "num_ref_idx_active_minus1"))
        }
      }
      for _ in 0..<lists where try reader.bit() { try Self.skipModifications(&reader) }
      let isWeighted =
        kind == .bidirectional
        ? picture.weighsBipredictions : lists > 0 && picture.weighsPredictions
      if isWeighted {
        try Self.skipWeights(&reader, counts: counts.prefix(lists), hasChroma: sequence.hasChroma)
      }
      guard try reader.bit() else { return false }
      // Ends with the input, because each operation consumes bits.
      while true {
        switch try reader.unsigned(upTo: 6, "memory_management_control_operation") {
        case 0: return false
        case 5: return true
        case 3:
          _ = try reader.unsigned()
          _ = try reader.unsigned()
        default: _ = try reader.unsigned()
        }
      }
    }

    /// `ref_pic_list_modification` (§7.3.3.1).
    private static func skipModifications(_ reader: inout BitReader) throws {
      while try reader.unsigned(upTo: 5, "modification_of_pic_nums_idc") != 3 {
        _ = try reader.unsigned()
      }
    }

    /// `pred_weight_table` (§7.3.3.2).
    private static func skipWeights(
      _ reader: inout BitReader, counts: ArraySlice<Int>, hasChroma: Bool
    ) throws {
      for _ in 0..<(hasChroma ? 2 : 1) { _ = try reader.unsigned() }
      for count in counts {
        for _ in 0..<count {
          if try reader.bit() { for _ in 0..<2 { _ = try reader.signed() } }
          if hasChroma, try reader.bit() { for _ in 0..<4 { _ = try reader.signed() } }
        }
      }
    }
  }
}

public import NIOCore

extension H265 {
  /// Reads slice headers of H.265.
  public struct PictureReader: PictureReading {
    private var sets = CodingParameterSets()
    private var pictures = ReferencePictures()
    /// Whether a picture that came may be unknown, as those before the first one are.
    private var mayHaveMissed = true
    /// Whether the leading pictures that come refer past the point at which decoding began.
    private var skipsLeading = true
    /// The next random-access point begins a sequence (`NoRaslOutputFlag`, §8.1.3).
    private var beginsSequence = true

    public init() {}

    public mutating func take(parameterSet unit: ByteBuffer) { sets.take(unit) }

    public func isParameterSet(_ type: UInt8) -> Bool { (32...34).contains(type) }

    /// `first_slice_segment_in_pic_flag` alone separates pictures (§7.4.7.1).
    public func identity(ofSlice head: NALUnitHead, body: ByteBuffer) -> PictureIdentity? { nil }

    public mutating func order(of units: [ByteBuffer]) -> PictureOrder? {
      var result: PictureOrder?
      for unit in units {
        let head = NALUnitHead(of: unit)
        // Other layers extend the base layer's picture.
        guard H265.layer(of: head) == 0 else { continue }
        switch NALUnitType(rawValue: H265.type(of: head)) {
        case .sequenceParameterSet, .pictureParameterSet: sets.take(unit)
        case .endOfSequence, .endOfBitstream: beginsSequence = true
        case let type? where type.rawValue < 32 && result == nil:
          result = order(ofSlice: unit, type, temporalLevel: max(head[1] & 0x07, 1) - 1)
          if result == nil { mayHaveMissed = true }
        default: break
        }
      }
      return result
    }

    /// What precedes the slices is of the picture before: live555 sends suffixes behind the marker.
    public func hash(of units: [ByteBuffer]) -> PictureHash? {
      for unit in units.reversed() {
        let head = NALUnitHead(of: unit)
        guard H265.layer(of: head) == 0 else { continue }
        switch NALUnitType(rawValue: H265.type(of: head)) {
        case .suffixSupplementalEnhancementInformation:
          if let hash = PictureHash(in: unit.dropping(bytes: 2)) { return hash }
        case let type? where type.rawValue < 32: return nil
        default: break
        }
      }
      return nil
    }

    public mutating func restart() {
      pictures = ReferencePictures()
      (beginsSequence, mayHaveMissed) = (true, true)
    }

    private mutating func order(
      ofSlice unit: ByteBuffer, _ type: NALUnitType, temporalLevel: UInt8
    ) -> PictureOrder? {
      guard let header = try? SliceHeader(parsing: unit, with: sets),
        let picture = sets.picture(header.pictureSet),
        let sequence = sets.sequence(picture.sequenceIdentifier)
      else { return nil }
      let isRandomAccess = type.rawValue >= 16
      let isFirst = isRandomAccess && beginsSequence
      let beginsAnew = isFirst || isRandomAccess && type != .cra
      if beginsAnew { pictures = ReferencePictures() }
      if isRandomAccess { skipsLeading = beginsAnew }
      let count = pictures.orderCount(header.orderCount, bits: sequence.orderBits, type: type)
      // Others are forbidden (§8.3.1), and nothing can be placed by them.
      guard PictureOrder.counts.contains(count) else { return nil }
      if isRandomAccess { beginsSequence = false }
      var order = PictureOrder(count: count)
      order.lacksReference = lacksReference(header, type, at: count)
      pictures.decoded(
        count, type: type, temporalLevel: temporalLevel, keeping: header.references.entries)
      order.beginsSequence = beginsAnew
      order.mayBeLed = type != .idrNLP && type != .blaNLP
      order.isShown = header.isShown
      order.reorderDepth = sequence.reorderDepth
      order.hasParts = picture.slices?.hasParallelRows ?? false
      return order
    }

    /// Whether the slice refers to a picture that never came (§8.3.2); from here on, those are
    /// taken to be there.
    ///
    /// Pictures that are only kept for others do not count: the others may be left out as well, as
    /// where somebody thins temporal sub-layers out.
    private mutating func lacksReference(
      _ header: SliceHeader, _ type: NALUnitType, at count: Int
    ) -> Bool {
      let entries = header.references.entries
      guard !mayHaveMissed else {
        mayHaveMissed = false
        for unknown in pictures.missing(entries, from: count) { pictures.insert(unknown) }
        return false
      }
      // Decoders skip RASL pictures that refer past the beginning (§8.1.3).
      let isSkipped = skipsLeading && (type == .raslN || type == .raslR)
      guard type.rawValue < 16, !isSkipped else { return false }
      let missing = pictures.missing(entries.filter(\.isUsed), from: count)
      for count in missing { pictures.insert(count) }
      return !missing.isEmpty
    }
  }
}

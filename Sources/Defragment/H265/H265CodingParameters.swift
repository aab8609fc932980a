package import NIOCore

extension H265 {
  /// A sequence parameter set as far as slice headers and coding trees depend on it (§7.3.2.2).
  package struct CodingParameters: Sendable {
    /// Luma samples before cropping.
    package let width: Int
    package let height: Int
    /// Whether chroma samples are coded with luma samples (`ChromaArrayType` is not 0).
    package let hasChroma: Bool
    package let hasSeparatePlanes: Bool
    /// Whether a transform unit has two chroma blocks of each kind (4:2:2).
    package let hasPairedChroma: Bool
    /// Bits of `slice_pic_order_cnt_lsb`.
    package let orderBits: Int
    package let log2SmallestBlock: Int
    package let log2TreeBlock: Int
    package let log2SmallestTransform: Int
    package let log2LargestTransform: Int
    /// `max_transform_hierarchy_depth_intra`.
    package let intraTransformDepth: Int
    package let hasPulseCodeModulation: Bool
    package let hasSampleOffsets: Bool
    package let referencePictureSets: [ReferencePictureSet]
    /// How many long-term references the set lists; `nil` where there are none in the stream.
    package let longTermReferenceCount: Int?
    package let hasTemporalMotion: Bool

    /// Coding tree blocks of a row.
    package var columns: Int { (width + (1 << log2TreeBlock) - 1) >> log2TreeBlock }
    package var rows: Int { (height + (1 << log2TreeBlock) - 1) >> log2TreeBlock }
    package var blockCount: Int { columns * rows }
    /// Bits of `slice_segment_address`.
    package var addressLength: Int { bitsToTell(blockCount) }
  }

  /// The parameter sets that a decoder has, by their numbers.
  package struct CodingParameterSets: Sendable {
    private var sequences: [Int: CodingParameters] = [:]
    private var pictures: [Int: PictureParameterSet] = [:]

    package init() {}

    package func sequence(_ identifier: Int) -> CodingParameters? { sequences[identifier] }

    package func picture(_ identifier: Int) -> PictureParameterSet? { pictures[identifier] }

    /// Takes in a NAL unit, header included; one that can not be read or is no parameter set changes
    /// nothing.
    package mutating func take(_ unit: ByteBuffer) {
      switch NALUnitType(rawValue: H265PayloadFormat.type(of: NALUnitHead(of: unit))) {
      case .sequenceParameterSet:
        guard let set = try? SequenceParameterSet(parsing: unit) else { return }
        sequences[set.identifier] = set.coding
      case .pictureParameterSet:
        guard let set = try? PictureParameterSet(parsing: unit) else { return }
        pictures[set.identifier] = set
      default: break
      }
    }

    /// The highest number that no picture parameter set has; `nil` when all are taken.
    package var freePictureIdentifier: Int? { (0..<64).last { pictures[$0] == nil } }
  }
}

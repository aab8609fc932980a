public import NIOCore

extension H265 {
  /// A sequence parameter set as far as slice headers and coding trees depend on it (§7.3.2.2).
  public struct CodingParameters: Sendable {
    /// Luma samples before cropping.
    public let width: Int
    public let height: Int
    /// Whether chroma samples are coded with luma samples (`ChromaArrayType` is not 0).
    public let hasChroma: Bool
    public let hasSeparatePlanes: Bool
    /// Whether a transform unit has two chroma blocks of each kind (4:2:2).
    public let hasPairedChroma: Bool
    /// Bits of `slice_pic_order_cnt_lsb`.
    public let orderBits: Int
    /// `sps_max_num_reorder_pics` of all sub-layers together.
    public let reorderDepth: Int?
    public let log2SmallestBlock: Int
    public let log2TreeBlock: Int
    public let log2SmallestTransform: Int
    public let log2LargestTransform: Int
    /// `max_transform_hierarchy_depth_intra`.
    public let intraTransformDepth: Int
    public let hasPulseCodeModulation: Bool
    public let hasSampleOffsets: Bool
    public let referencePictureSets: [ReferencePictureSet]
    /// How many long-term references the set lists; `nil` where there are none in the stream.
    public let longTermReferenceCount: Int?
    public let hasTemporalMotion: Bool

    /// Coding tree blocks of a row.
    public var columns: Int { (width + (1 << log2TreeBlock) - 1) >> log2TreeBlock }
    public var rows: Int { (height + (1 << log2TreeBlock) - 1) >> log2TreeBlock }
    public var blockCount: Int { columns * rows }
    /// Bits of `slice_segment_address`.
    public var addressLength: Int { bitsToTell(blockCount) }
  }

  /// The parameter sets that a decoder has, by their numbers.
  public struct CodingParameterSets: Sendable {
    private var sequences: [Int: CodingParameters] = [:]
    private var pictures: [Int: PictureParameterSet] = [:]

    public init() {}

    public func sequence(_ identifier: Int) -> CodingParameters? { sequences[identifier] }

    public func picture(_ identifier: Int) -> PictureParameterSet? { pictures[identifier] }

    /// Takes in a NAL unit, header included; one that cannot be read or is no parameter set changes
    /// nothing.
    public mutating func take(_ unit: ByteBuffer) {
      switch NALUnitType(rawValue: H265.type(of: NALUnitHead(of: unit))) {
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
    public var freePictureIdentifier: Int? { (0..<64).last { pictures[$0] == nil } }
  }
}

public import NIOCore

extension H265 {
  /// The part of a sequence parameter set that slice headers and coding trees need (§7.3.2.2).
  public struct CodingParameters: Sendable {
    /// Luma samples before cropping.
    public let width: Int
    public let height: Int
    /// Whether chroma is coded together with luma (`ChromaArrayType` is not 0).
    public let hasChroma: Bool
    public let hasSeparatePlanes: Bool
    /// Whether a transform unit has two chroma blocks of each kind (4:2:2).
    public let hasPairedChroma: Bool
    /// Bits of `slice_pic_order_cnt_lsb`.
    public let orderBits: Int
    /// `sps_max_num_reorder_pics` of the highest sub-layer.
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
    /// How many long-term references the set lists; `nil` when the stream has none.
    public let longTermReferenceCount: Int?
    public let hasTemporalMotion: Bool
    /// Whether slices are those of the profiles up to the range extensions.
    ///
    /// Others, such as screen content, add to the coding trees and to the slice headers' end.
    public let hasUsualTrees: Bool

    /// Coding tree blocks per row.
    public var columns: Int { (width + (1 << log2TreeBlock) - 1) >> log2TreeBlock }
    public var rows: Int { (height + (1 << log2TreeBlock) - 1) >> log2TreeBlock }
    public var blockCount: Int { columns * rows }
    /// Bits of `slice_segment_address`.
    public var addressLength: Int { bitsToTell(blockCount) }
  }

  /// The parameter sets that a decoder knows, by identifier.
  public struct CodingParameterSets: Sendable {
    private var sequences: [Int: CodingParameters] = [:]
    private var pictures: [Int: PictureParameterSet] = [:]

    public init() {}

    public func sequence(_ identifier: Int) -> CodingParameters? { sequences[identifier] }

    public func picture(_ identifier: Int) -> PictureParameterSet? { pictures[identifier] }

    /// Adds a parameter set, NAL unit header included; ignores what cannot be read or is none.
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

    /// The highest identifier that no picture parameter set uses; `nil` when all are used.
    public var freePictureIdentifier: Int? { (0..<64).last { pictures[$0] == nil } }
  }
}

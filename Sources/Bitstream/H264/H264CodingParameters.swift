public import NIOCore

extension H264 {
  /// A sequence parameter set as far as slice headers and the order of output depend on it
  /// (§7.3.2.1.1).
  public struct CodingParameters: Sendable, Hashable {
    /// How the picture order count is told (§8.2.1).
    public enum Order: Sendable, Hashable {
      /// By its lowest bits (type 0).
      case lowBits(Int)
      /// By the place in a cycle of known distances (type 1).
      case cycle(Cycle)
      /// It is that of decoding (type 2).
      case decoding
    }

    /// The distances of a cycle (§8.2.1.2).
    public struct Cycle: Sendable, Hashable {
      /// `delta_pic_order_always_zero_flag` is not set.
      public var tellsDifferences: Bool
      public var offsetOfNonReference: Int
      public var offsetFromTopToBottom: Int
      public var offsets: [Int]
    }

    /// Bits of `frame_num`.
    public let frameNumberBits: Int
    public let order: Order
    public let isFramesOnly: Bool
    /// `max_num_reorder_frames`, or what follows from the profile; `nil` where nothing says it.
    public let reorderDepth: Int?
    /// `max_dec_frame_buffering`, or what follows from the level.
    public let capacity: Int?
    public let hasSeparatePlanes: Bool
    /// Whether chroma samples are coded with luma samples (`ChromaArrayType` is not 0).
    public let hasChroma: Bool
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
      switch NALUnitType(rawValue: H264.type(of: NALUnitHead(of: unit))) {
      case .sequenceParameterSet:
        guard let set = try? SequenceParameterSet(parsing: unit) else { return }
        sequences[set.identifier] = set.coding
      case .pictureParameterSet:
        guard let set = try? PictureParameterSet(parsing: unit) else { return }
        pictures[set.identifier] = set
      default: break
      }
    }
  }
}

public import NIOCore

extension H264 {
  /// The part of a sequence parameter set that slice headers and output order need (§7.3.2.1.1).
  public struct CodingParameters: Sendable, Hashable {
    /// How the picture order count is coded (§8.2.1).
    public enum Order: Sendable, Hashable {
      /// As its low bits (type 0).
      case lowBits(Int)
      /// As a position in a cycle of known distances (type 1).
      case cycle(Cycle)
      /// As the decoding order (type 2).
      case decoding
    }

    /// The distances of a cycle (§8.2.1.2).
    public struct Cycle: Sendable, Hashable {
      /// `delta_pic_order_always_zero_flag` is 0.
      public var tellsDifferences: Bool
      public var offsetOfNonReference: Int
      public var offsetFromTopToBottom: Int
      public var offsets: [Int]
    }

    /// Bits of `frame_num`.
    public let frameNumberBits: Int
    /// `gaps_in_frame_num_value_allowed_flag`: reference pictures may be left out on purpose.
    public let allowsGaps: Bool
    public let order: Order
    public let isFramesOnly: Bool
    /// `max_num_reorder_frames`, or what the profile implies; `nil` when neither says.
    public let reorderDepth: Int?
    /// What the level implies, but no fewer than `max_num_ref_frames`.
    public let capacity: Int?
    public let hasSeparatePlanes: Bool
    /// Whether chroma is coded together with luma (`ChromaArrayType` is not 0).
    public let hasChroma: Bool
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

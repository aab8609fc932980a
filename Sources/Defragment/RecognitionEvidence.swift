/// How many payloads prove a codec, and how many rule it out.
public struct RecognitionEvidence: Sendable, Hashable {
  public private(set) var certain: UInt64 = 0
  public private(set) var against: UInt64 = 0

  public init() {}

  public mutating func note(_ recognition: Recognition) {
    switch recognition {
    case .certain: certain += 1
    case .no: against += 1
    case .possible: break
    }
  }

  /// Whether it is of that codec: strays of another kind may be among the payloads.
  public var isConvincing: Bool { certain > 2 * against }
}

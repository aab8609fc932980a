/// Whether the packets of one SSRC prove a source: two almost directly in sequence (RFC 3550 A.1).
///
/// Every second packet may be lost, or each pair swapped. Duplicates prove nothing.
public struct SourceProof: Sendable, Hashable {
  /// How far apart the two numbers may be by default (`MAX_MISORDER` of A.1): networks reorder the
  /// first packets of a stream as they do all others.
  public static let usualReach = 100
  /// The largest step ahead in the numbers that is no restart of them (`MAX_DROPOUT` of A.1).
  public static let greatestDropout: Int64 = 3000

  public private(set) var isComplete = false
  private var last: SequenceNumber?
  private let reach: Int

  /// Begins without packets; `reach` is the largest distance between two proving numbers.
  public init(reach: Int = Self.usualReach) { self.reach = reach }

  /// Notes the next packet to arrive; returns whether the source is now proven.
  public mutating func note(_ number: SequenceNumber) -> Bool {
    if let last, !isComplete {
      let step = last.distance(to: number)
      isComplete = step != 0 && step.magnitude <= reach.magnitude
    }
    last = number
    return isComplete
  }
}

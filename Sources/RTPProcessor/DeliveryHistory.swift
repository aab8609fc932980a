import RTPWire

/// What became of the last places, by sequence number: the timestamps of the packets delivered.
///
/// The timestamp tells a duplicate (same number, same timestamp) from a sender that has restarted
/// its numbering (same number, another timestamp).
struct DeliveryHistory: Sendable {
  /// Twice the default limit of waiting packets, so that a packet of a fast stream is still
  /// recognized as late after the reorder window.
  ///
  /// A power of two.
  static let capacity = 4096

  enum Finding: Sendable, Hashable {
    /// `isRepaired` says whether the packet was sent again or rebuilt, and has not come itself.
    case delivered(timestamp: UInt32, isRepaired: Bool)
    /// Passed without a packet: that of a lost correction packet.
    case closed
    /// Inside the history, but never delivered: its place was given up.
    case missing
    case forgotten
  }

  private var records = [Record](repeating: Record(), count: capacity)
  private var first: Int64?
  private var newest: Int64 = 0

  /// Eight bytes, because every stream has thousands of them.
  private struct Record: Sendable {
    /// How a place was passed.
    private enum Passage: UInt32 {
      case delivered, repaired, closed
    }

    /// The place without the part that its slot says, and how it was passed.
    ///
    /// The first value is that of no place: numbers begin at 65,536 (`SequenceUnwrapper`), and none
    /// comes to 2^42.
    private var key = UInt32.max
    private var timestamp: UInt32 = 0

    init() {}

    init(_ sequence: Int64, timestamp: UInt32?, isRepaired: Bool) {
      key = Self.key(
        of: sequence, timestamp == nil ? .closed : isRepaired ? .repaired : .delivered)
      self.timestamp = timestamp ?? 0
    }

    /// What it says of `sequence`, whose slot it has; `nil` if it is of another place.
    func finding(for sequence: Int64) -> Finding? {
      switch key {
      case Self.key(of: sequence, .delivered):
        .delivered(timestamp: timestamp, isRepaired: false)
      case Self.key(of: sequence, .repaired): .delivered(timestamp: timestamp, isRepaired: true)
      case Self.key(of: sequence, .closed): .closed
      default: nil
      }
    }

    private static func key(of sequence: Int64, _ passage: Passage) -> UInt32 {
      UInt32(truncatingIfNeeded: sequence >> Int64(capacity.trailingZeroBitCount)) << 2
        | passage.rawValue
    }
  }

  /// Notes that `sequence` has been passed, with the timestamp of its packet if there was one.
  mutating func record(_ sequence: Int64, timestamp: UInt32?, isRepaired: Bool = false) {
    records[Self.slot(of: sequence)] = Record(
      sequence, timestamp: timestamp, isRepaired: isRepaired)
    newest = sequence
    if first == nil { first = sequence }
  }

  /// Notes that the packet `sequence`, which had been repaired, came itself.
  mutating func noteOriginal(_ sequence: Int64, timestamp: UInt32) {
    records[Self.slot(of: sequence)] = Record(sequence, timestamp: timestamp, isRepaired: false)
  }

  private static func slot(of sequence: Int64) -> Int {
    Int(truncatingIfNeeded: sequence) & (capacity - 1)
  }

  func find(_ sequence: Int64) -> Finding {
    guard let first, newest - sequence < Self.capacity else { return .forgotten }
    if let finding = records[Self.slot(of: sequence)].finding(for: sequence) { return finding }
    // Before the first packet: late if it is near, otherwise unknown.
    return sequence >= first - Int64(SourceProof.usualReach) ? .missing : .forgotten
  }
}

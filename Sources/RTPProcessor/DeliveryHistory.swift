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
    case delivered(timestamp: UInt32)
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
    /// The place without the part that its slot says, and whether there was no packet.
    ///
    /// The first value is that of no place: numbers begin at 65,536 (`SequenceUnwrapper`), and none
    /// comes to 2^43.
    private var key = UInt32.max
    private var timestamp: UInt32 = 0

    init() {}

    init(_ sequence: Int64, timestamp: UInt32?) {
      key = Self.key(of: sequence, isClosed: timestamp == nil)
      self.timestamp = timestamp ?? 0
    }

    /// What it says of `sequence`, whose slot it has; `nil` if it is of another place.
    func finding(for sequence: Int64) -> Finding? {
      switch key {
      case Self.key(of: sequence, isClosed: false): .delivered(timestamp: timestamp)
      case Self.key(of: sequence, isClosed: true): .closed
      default: nil
      }
    }

    private static func key(of sequence: Int64, isClosed: Bool) -> UInt32 {
      UInt32(truncatingIfNeeded: sequence >> Int64(capacity.trailingZeroBitCount)) << 1
        | (isClosed ? 1 : 0)
    }
  }

  /// Notes that `sequence` has been passed, with the timestamp of its packet if there was one.
  mutating func record(_ sequence: Int64, timestamp: UInt32?) {
    let slot = Int(truncatingIfNeeded: sequence) & (Self.capacity - 1)
    records[slot] = Record(sequence, timestamp: timestamp)
    newest = sequence
    if first == nil { first = sequence }
  }

  func find(_ sequence: Int64) -> Finding {
    guard let first, newest - sequence < Self.capacity else { return .forgotten }
    let slot = Int(truncatingIfNeeded: sequence) & (Self.capacity - 1)
    if let finding = records[slot].finding(for: sequence) { return finding }
    // Before the first packet: late if it is near, otherwise unknown.
    return sequence >= first - Int64(SourceProof.usualReach) ? .missing : .forgotten
  }
}

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

  private var records = [Record](
    repeating: Record(sequence: .min, timestamp: nil), count: capacity)
  private var first: Int64?
  private var newest: Int64 = 0

  private struct Record: Sendable {
    var sequence: Int64
    /// `nil` if there was no packet.
    var timestamp: UInt32?
  }

  /// Notes that `sequence` has been passed, with the timestamp of its packet if there was one.
  mutating func record(_ sequence: Int64, timestamp: UInt32?) {
    let slot = Int(truncatingIfNeeded: sequence) & (Self.capacity - 1)
    records[slot] = Record(sequence: sequence, timestamp: timestamp)
    newest = sequence
    if first == nil { first = sequence }
  }

  func find(_ sequence: Int64) -> Finding {
    guard let first, newest - sequence < Self.capacity else { return .forgotten }
    let slot = Int(truncatingIfNeeded: sequence) & (Self.capacity - 1)
    let record = records[slot]
    if record.sequence == sequence {
      return record.timestamp.map { .delivered(timestamp: $0) } ?? .closed
    }
    // Before the first packet: late if it is near, otherwise unknown.
    return sequence >= first - Int64(SourceProof.usualReach) ? .missing : .forgotten
  }
}

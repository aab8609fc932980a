/// The timestamps of the packets delivered last, by sequence number.
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
    /// Inside the history, but never delivered: its place was given up.
    case missing
    case forgotten
  }

  private var records = [Record](
    repeating: Record(sequence: .min, timestamp: 0), count: capacity)
  private var first: Int64?
  private var newest: Int64 = 0

  private struct Record: Sendable {
    var sequence: Int64
    var timestamp: UInt32
  }

  mutating func record(_ sequence: Int64, timestamp: UInt32) {
    let slot = Int(truncatingIfNeeded: sequence) & (Self.capacity - 1)
    records[slot] = Record(sequence: sequence, timestamp: timestamp)
    newest = sequence
    if first == nil { first = sequence }
  }

  func find(_ sequence: Int64) -> Finding {
    guard let first, newest - sequence < Self.capacity else { return .forgotten }
    let slot = Int(truncatingIfNeeded: sequence) & (Self.capacity - 1)
    let record = records[slot]
    if record.sequence == sequence { return .delivered(timestamp: record.timestamp) }
    // Before the first packet: late if it is near, otherwise unknown.
    return sequence >= first - Int64(Prospect.greatestDistance) ? .missing : .forgotten
  }
}

import NIOCore
import RTPWire

/// Packets waiting for an earlier one: a ring of slots, indexed by extended sequence number.
///
/// Insertion and removal take constant time. Giving up a gap takes time proportional to its length,
/// which ``span`` bounds. The ring grows from 64 slots, so that a stream in order costs little.
struct ReorderBuffer: Sendable {
  struct Entry: Sendable {
    let packet: RTPPacket
    let sequence: Int64
    let arrival: Instant
    /// Whether it was sent again, or rebuilt from others.
    var isRepaired = false
  }

  /// What a place holds.
  enum Occupant: Sendable {
    case packet(Entry)
    /// The packet was a lost correction packet, so that nothing is missing here.
    case lostCorrection(sequence: Int64)

    var sequence: Int64 {
      switch self {
      case .packet(let entry): entry.sequence
      case .lostCorrection(let sequence): sequence
      }
    }

    var length: Int {
      switch self {
      case .packet(let entry): entry.packet.bytes.readableBytes
      case .lostCorrection: 0
      }
    }
  }

  enum Insertion: Sendable, Hashable {
    case stored
    case duplicate
    /// More than ``ReorderBuffer/span`` places ahead of ``ReorderBuffer/next``.
    case beyondSpan
  }

  /// The farthest a packet may lie ahead of the next one: above `MAX_DROPOUT` of RFC 3550 A.1.
  static let span = 4096

  /// The sequence number that leaves next.
  private(set) var next: Int64
  private(set) var count = 0
  private(set) var bytes = 0
  private var slots = [Occupant?](repeating: nil, count: 64)
  /// The inserted entries, oldest first; those that have left are skipped later.
  private var insertions = CircularBuffer<(sequence: Int64, arrival: Instant)>()

  init(next: Int64) { self.next = next }

  /// When what has waited longest arrived, or `nil` when nothing waits.
  var oldestArrival: Instant? { insertions.first?.arrival }

  /// Whether the place `sequence` is taken.
  func holds(_ sequence: Int64) -> Bool {
    guard count > 0, (next..<next + Int64(slots.count)).contains(sequence) else { return false }
    return slots[index(of: sequence)] != nil
  }

  /// Stores `occupant`, whose number must not precede ``next``.
  mutating func insert(_ occupant: Occupant, at arrival: Instant) -> Insertion {
    let sequence = occupant.sequence
    let ahead = sequence - next
    guard ahead >= 0, ahead < Self.span else { return .beyondSpan }
    while ahead >= slots.count { grow() }
    let slot = index(of: sequence)
    guard slots[slot] == nil else { return .duplicate }
    slots[slot] = occupant
    insertions.append((sequence, arrival))
    count += 1
    bytes += occupant.length
    return .stored
  }

  /// Notes that the packet `sequence` came itself after a repair; `false` if none waits for it.
  mutating func noteOriginal(_ sequence: Int64, timestamp: UInt32) -> Bool {
    guard holds(sequence), case .packet(var entry)? = slots[index(of: sequence)],
      entry.isRepaired, entry.packet.timestamp == timestamp
    else { return false }
    entry.isRepaired = false
    slots[index(of: sequence)] = .packet(entry)
    return true
  }

  /// Removes what is at ``next``, if anything is, and moves on.
  mutating func popNext() -> Occupant? {
    guard count > 0 else { return nil }
    let slot = index(of: next)
    guard let occupant = slots[slot] else { return nil }
    slots[slot] = nil
    next += 1
    count -= 1
    bytes -= occupant.length
    while let oldest = insertions.first, oldest.sequence < next {
      insertions.removeFirst()
    }
    return occupant
  }

  /// Moves past ``next`` without removing a packet: a packet in order is never stored.
  mutating func passNext() { next += 1 }

  /// Gives up the numbers before the first place that is taken, and returns how many there were.
  mutating func skipGap() -> Int {
    guard count > 0 else { return 0 }
    let from = next
    while slots[index(of: next)] == nil { next += 1 }
    return Int(clamping: next - from)
  }

  private func index(of sequence: Int64) -> Int {
    Int(truncatingIfNeeded: sequence) & (slots.count - 1)
  }

  private mutating func grow() {
    let former = slots
    slots = [Occupant?](repeating: nil, count: 2 * former.count)
    for case .some(let occupant) in former { slots[index(of: occupant.sequence)] = occupant }
  }
}

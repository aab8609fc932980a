import RTPProcessor
import RTPWire

/// The packets that an access unit came in.
///
/// A packet with parts of two access units counts with both, but what happened to it only with the
/// first.
public struct UnitPackets: Sendable, Hashable {
  /// The RTP timestamp of the unit, as sent.
  public internal(set) var timestamp: UInt32
  /// The lowest number of the packets, unwrapped: the lower 16 bits are those that were sent.
  public internal(set) var firstSequence: Int64
  /// The highest number.
  public internal(set) var lastSequence: Int64
  /// Packets that were sent again, or rebuilt from others.
  public internal(set) var repaired: Int
  /// Packets that came too late while this unit was received.
  ///
  /// They belong to this unit or to earlier ones, which ended without them. What comes after the
  /// last packet of a unit counts with the next one, so that the units together have all of them.
  public internal(set) var late: Int
  /// Repetitions of packets that came while this unit was received, with the same bounds.
  public internal(set) var duplicates: Int

  init(_ packet: OrderedPacket) {
    timestamp = packet.packet.timestamp
    firstSequence = packet.extendedSequence
    lastSequence = packet.extendedSequence
    repaired = packet.isRepaired ? 1 : 0
    late = Int(packet.lateBefore)
    duplicates = Int(packet.duplicatesBefore)
  }

  /// One packet for a unit that came otherwise.
  package init(onlyNumber number: Int64) {
    timestamp = 0
    (firstSequence, lastSequence) = (number, number)
    (repaired, late, duplicates) = (0, 0, 0)
  }

  /// Adds the packets of another part of the picture.
  package mutating func add(_ other: UnitPackets) {
    firstSequence = min(firstSequence, other.firstSequence)
    lastSequence = max(lastSequence, other.lastSequence)
    addCounts(of: other)
  }

  mutating func addCounts(of other: UnitPackets) {
    repaired += other.repaired
    late += other.late
    duplicates += other.duplicates
  }

  /// Returns this, and forgets what happened to the packets, so that it is counted once.
  mutating func take() -> UnitPackets {
    defer { (repaired, late, duplicates) = (0, 0, 0) }
    return self
  }
}

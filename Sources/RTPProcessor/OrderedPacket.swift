public import RTPWire

/// A packet in its place: what ``RTPProcessor`` emits.
public struct OrderedPacket: Sendable {
  public let packet: RTPPacket
  /// The sequence number without wrap, increasing from packet to packet within one source.
  public let extendedSequence: Int64
  /// The RTP timestamp without wrap; continues across restarts of the source.
  public let time: MediaTime
  public let arrival: Instant
  /// How many packets are missing directly before this one.
  public let lostBefore: Int
  /// True on the first packet of a source, or after its numbering started afresh: what came before
  /// and what comes now belong to different streams, although ``time`` goes on.
  public let isDiscontinuity: Bool

  public init(
    packet: RTPPacket, extendedSequence: Int64, time: MediaTime, arrival: Instant,
    lostBefore: Int = 0, isDiscontinuity: Bool = false
  ) {
    self.packet = packet
    self.extendedSequence = extendedSequence
    self.time = time
    self.arrival = arrival
    self.lostBefore = lostBefore
    self.isDiscontinuity = isDiscontinuity
  }
}

public import RTPWire

/// A packet in sequence order, as ``RTPProcessor`` emits it.
public struct OrderedPacket: Sendable {
  public let packet: RTPPacket
  /// The unwrapped sequence number; it increases from packet to packet within one source.
  public let extendedSequence: Int64
  /// The unwrapped RTP timestamp; it continues across restarts of the source.
  public let time: MediaTime
  public let arrival: Instant
  /// How many packets are missing directly before this one.
  public let lostBefore: Int
  /// True on the first packet of a source and after a restart of its numbering.
  ///
  /// Packets before and after belong to different streams, although ``time`` continues.
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

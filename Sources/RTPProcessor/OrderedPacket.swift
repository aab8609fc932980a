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
  /// True on the first packet of a source that has taken the place of another one.
  ///
  /// A source that only goes on under another SSRC is the same.
  public let beginsOtherSource: Bool
  /// Whether it was sent again, or rebuilt from others.
  public let isRepaired: Bool
  /// Packets that came too late since the packet before this one in order.
  public let lateBefore: UInt16
  /// Repetitions of packets that came since the packet before this one in order.
  public let duplicatesBefore: UInt16

  public init(
    packet: RTPPacket, extendedSequence: Int64, time: MediaTime, arrival: Instant,
    lostBefore: Int = 0, isDiscontinuity: Bool = false,
    beginsOtherSource: Bool = false, isRepaired: Bool = false,
    lateBefore: UInt16 = 0, duplicatesBefore: UInt16 = 0
  ) {
    self.packet = packet
    self.extendedSequence = extendedSequence
    self.time = time
    self.arrival = arrival
    self.lostBefore = lostBefore
    self.isDiscontinuity = isDiscontinuity
    self.beginsOtherSource = beginsOtherSource
    self.isRepaired = isRepaired
    self.lateBefore = lateBefore
    self.duplicatesBefore = duplicatesBefore
  }

  /// A copy whose packet has storage of its own, for what waits.
  package func detached() -> OrderedPacket {
    OrderedPacket(
      packet: packet.detached(), extendedSequence: extendedSequence, time: time, arrival: arrival,
      lostBefore: lostBefore, isDiscontinuity: isDiscontinuity,
      beginsOtherSource: beginsOtherSource, isRepaired: isRepaired, lateBefore: lateBefore,
      duplicatesBefore: duplicatesBefore)
  }
}

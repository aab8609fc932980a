public import RTPWire

/// The outcome of one datagram.
///
/// Every case has a counter of the same name in ``ReceptionStatistics``, except for the three that
/// say "wait": a packet that was `inOrder`, `parked` or put on `probation` is counted when it is
/// delivered or given up.
public enum PacketOutcome: Sendable, Hashable {
  /// The next packet in sequence; it is delivered at once.
  case inOrder
  /// After a gap; it is delivered when the gap closes or the reorder window ends.
  case parked
  /// From a source, or in a numbering, that is not validated yet (RFC 3550 A.1).
  case probation
  /// A repetition of a packet that has arrived already.
  case duplicate
  /// It arrived after it had been rebuilt or sent again: it was late, not lost.
  case overtaken
  /// It arrived after its place was given up.
  case late
  /// From another SSRC while the current source is active.
  case foreignSource
  /// Of a payload type that is not the stream's, whether or not it shares the stream's numbering.
  case ignoredPayloadType
  /// A correction packet with separate numbering, which was used.
  case correction
  /// A retransmission packet, which was used.
  case retransmission
  /// Not an RTP packet.
  case malformed(RTPPacketError)
  /// A compound RTCP packet, which was used.
  case control
  /// A compound RTCP packet that could not be parsed; of it, only the accepted source's sender
  /// reports before the fault were used.
  case malformedControl(RTCPPacketError)
}

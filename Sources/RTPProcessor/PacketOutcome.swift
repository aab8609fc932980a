public import RTPWire

/// What became of one datagram when it came in.
///
/// Every case has a counter of the same name in ``ReceptionStatistics``, except for the three that
/// say "wait": a packet that was `inOrder`, `parked` or put on `probation` is counted when it is
/// delivered or given up.
public enum PacketOutcome: Sendable, Hashable {
  /// The next packet in sequence; it leaves at once.
  case inOrder
  /// Ahead of a gap; it leaves when the gap closes or the reorder window is over.
  case parked
  /// From a source, or in a numbering, that has yet to prove itself (RFC 3550 A.1).
  case probation
  /// The same packet came before.
  case duplicate
  /// Its place was given up before it came.
  case late
  /// From another SSRC while the current source is alive.
  case foreignSource
  /// Of a payload type that is not the stream's, whether or not it has a number among the stream's.
  case ignoredPayloadType
  /// A correction packet with a numbering of its own, taken in.
  case correction
  /// A retransmission packet, taken in.
  case retransmission
  /// Not an RTP packet.
  case malformed(RTPPacketError)
  /// An RTCP compound, taken in.
  case control
  /// An RTCP compound that does not parse; nothing of it was used.
  case malformedControl(RTCPPacketError)
}

import RTPWire

/// How much one client may have sent again: forged requests must not make a flood of its stream.
struct ResendAllowance {
  /// In a row, and in a second.
  static let packets = 1000

  private var allowance = Allowance(inARow: packets, perSecond: packets)

  /// The first of `packets` that the client may have at `now`.
  mutating func allowed(_ packets: [PacketFeed.Packet], at now: Instant) -> ArraySlice<
    PacketFeed.Packet
  > {
    packets.prefix(allowance.take(packets.count, at: now))
  }
}

import RTPWire

/// How much one client may have sent again: forged requests must not make a flood of its stream.
struct ResendAllowance {
  /// In a row, and in a second.
  static let packets = 1000

  private var left = packets
  private var filled: Instant?

  /// The first of `packets` that the client may have at `now`.
  mutating func allowed(_ packets: [PacketFeed.Packet], at now: Instant) -> ArraySlice<
    PacketFeed.Packet
  > {
    let elapsed = filled.map { max(0, $0.nanoseconds(to: now)) } ?? 0
    let earned = Int(clamping: Double(elapsed) * Double(Self.packets) / 1e9)
    if filled == nil || earned > 0 {
      left = min(Self.packets, left + earned)
      filled = now
    }
    let allowed = packets.prefix(left)
    left -= allowed.count
    return allowed
  }
}

import NIOCore

extension Source {
  /// The packets in order that nobody has taken yet.
  ///
  /// One that is in order is taken before the next one comes. It has a place of its own, from which
  /// it is moved; a ring copies what it gives out.
  struct Ready: Sendable {
    private var first: OrderedPacket?
    /// Those behind it, or all that are left once it is taken.
    private var others = CircularBuffer<OrderedPacket>()

    mutating func append(_ packet: consuming OrderedPacket) {
      if first == nil, others.isEmpty {
        first = packet
      } else {
        others.append(packet)
      }
    }

    mutating func popFirst() -> OrderedPacket? {
      if let packet = first.take() { return packet }
      return others.popFirst()
    }
  }
}

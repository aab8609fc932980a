public import RTPWire

extension Reception {
  /// The properties of what carries a connection's packets.
  public struct Carrier: Sendable, Hashable {
    /// Which clock its packets follow; what is due in a recording comes out before the next packet.
    public var clock: ArrivalClock
    /// Whether this side only waits for a far end that begins when it likes.
    public var isPassive: Bool
    /// The pause after which the carrier ends by itself; `nil` if it never does.
    public var longestSilence: Duration?
    /// Whether media may go on in another connection: `false` for a recording or an open pipe,
    /// which end once.
    public var comesAgain: Bool
    /// Whether it lets packets gather when told to (``Action/gather(_:)``).
    public var canGather: Bool

    /// Makes a carrier; where `comesAgain` is not said, everything but a recording can.
    public init(
      clock: ArrivalClock = .monotonic, isPassive: Bool = false, longestSilence: Duration? = nil,
      comesAgain: Bool? = nil, canGather: Bool = false
    ) {
      self.clock = clock
      self.isPassive = isPassive
      self.longestSilence = longestSilence
      self.comesAgain = comesAgain ?? clock.isLive
      self.canGather = canGather
    }
  }
}

/// What a session does otherwise with a recording; nothing else in it asks for the clock.
extension Reception.Carrier {
  /// Whether time passes while nothing comes, as the caller says; that of a recording goes from
  /// packet to packet.
  var timePasses: Bool { clock.isLive }
  /// Whether packets wait, as they are, until what came before them has been consumed; where they
  /// do not, access units wait.
  var packetsWait: Bool { !clock.isLive }
  /// Whether the sender can be asked for something.
  var senderListens: Bool { clock.isLive }
}

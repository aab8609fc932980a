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
    /// Whether it lets packets gather when told to (``Action/gather(_:)``).
    public var canGather: Bool

    public init(
      clock: ArrivalClock = .monotonic, isPassive: Bool = false, longestSilence: Duration? = nil,
      canGather: Bool = false
    ) {
      self.clock = clock
      self.isPassive = isPassive
      self.longestSilence = longestSilence
      self.canGather = canGather
    }
  }
}

/// What a session does otherwise with a recording: the only place that asks which clock there is.
extension Reception.Carrier {
  /// Whether time passes while nothing comes, as the caller says; that of a recording goes from
  /// packet to packet.
  var timePasses: Bool { clock == .monotonic }
  /// Whether packets wait, as they are, until what came before them has been consumed; where they
  /// do not, access units wait.
  var packetsWait: Bool { clock == .recorded }
  /// Whether the sender can be asked for something.
  var senderListens: Bool { clock == .monotonic }
  /// Whether media may go on in another connection.
  var mayComeAgain: Bool { clock == .monotonic }
}

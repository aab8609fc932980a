extension Reception {
  /// The properties of what carries a connection's packets.
  public struct Carrier: Sendable, Hashable {
    /// Which clock the packets follow.
    public enum Time: Sendable, Hashable {
      /// The machine's clock: what does not come in time is late.
      case live
      /// The recording's clock: whatever is due comes out before the next packet.
      case recorded
    }

    /// Which clock its packets follow.
    public var time: Time
    /// Whether this side only waits for a far end that begins when it likes.
    public var isPassive: Bool
    /// The pause after which the carrier ends by itself; `nil` if it never does.
    public var longestSilence: Duration?
    /// Whether it lets packets gather when told to (``Action/gather(_:)``).
    public var canGather: Bool

    public init(
      time: Time = .live, isPassive: Bool = false, longestSilence: Duration? = nil,
      canGather: Bool = false
    ) {
      self.time = time
      self.isPassive = isPassive
      self.longestSilence = longestSilence
      self.canGather = canGather
    }
  }

  /// How a carrier ended.
  public enum CarrierEnd: Sendable {
    /// The far end finished normally.
    case ended
    /// It broke; the error says why.
    case failed(any Error)
    /// This side closed it.
    case closed
  }
}

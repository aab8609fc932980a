/// A sentence for people that follows from a transport's counters, declared in the transport's
/// folder and said by whoever shows a run.
public struct TransportHint: Sendable {
  /// When a hint is given, and what follows from it.
  public enum Occasion: Sendable, Hashable {
    /// While nothing has come: what is done about it, in words that stay the same.
    case waiting
    /// While the stream runs: a warning, which is given once.
    case warning
    /// While the stream runs, for those who want to know much: given whenever its words change.
    case news
    /// At the end: why nothing of what came is to be trusted; this is the run's result.
    case distrust
    /// At the end: what came instead of RTP; this is the run's result.
    case notRTP
    /// At the end of a run without media: that the far end has refused it.
    case refusal
    /// At the end of a run without media: what else came.
    case otherTraffic
    /// At the end of a run whose media stopped: who else sends.
    case otherSender
    /// At the end of a run in which nothing came: what to check.
    case silence
    /// While the stream runs, and at its end: what to try where its packets make no sense.
    ///
    /// The words call the packets "they".
    case nonsense
  }

  /// What a hint is made of.
  public struct Situation: Sendable {
    /// As a person may see it: without a password.
    public var source: String
    public var options: TransportOptions
    /// Those of all connections of the run.
    public var counters: TransportCounters
    /// RTP packets of the media that were received; where they are protected, authentic ones.
    public var received: UInt64

    public init(
      source: String, options: TransportOptions = TransportOptions(),
      counters: TransportCounters = TransportCounters(), received: UInt64 = 0
    ) {
      self.source = source
      self.options = options
      self.counters = counters
      self.received = received
    }
  }

  public let occasion: Occasion
  /// The hint as a sentence without its full stop; `nil` where it does not hold.
  public let words: @Sendable (Situation) -> String?

  public init(
    _ occasion: Occasion, words: @escaping @Sendable (_ situation: Situation) -> String?
  ) {
    self.occasion = occasion
    self.words = words
  }
}

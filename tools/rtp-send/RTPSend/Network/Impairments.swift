/// The impairments of a network, which apply together.
public struct Impairments: Sendable, Hashable {
  /// The probability that a packet is lost, independently of the others: 0 … 1.
  public var loss = 0.0
  public var burstLoss: BurstLoss?
  public var reordering: Reordering?
  /// The probability that a packet is duplicated: 0 … 1.
  public var duplication = 0.0
  /// The standard deviation of the delay, in nanoseconds; the mean is three times that.
  ///
  /// Packets of one sender may overtake one another. The delay is never below 0 and never above
  /// nine standard deviations.
  public var jitter: Int64 = 0
  /// The probability that a datagram of random bytes follows a packet: 0 … 1.
  public var garbage = 0.0

  public init() {}

  /// Loss in bursts by the model of Gilbert and Elliott, whose bad state loses everything.
  public struct BurstLoss: Sendable, Hashable {
    /// The share of packets that is lost in the long run: 0 … 1.
    public let probability: Double
    /// The mean number of packets lost in a row, at least 1.
    public let meanLength: Double

    /// Makes a burst loss, or `nil` when no such model exists.
    ///
    /// Bursts of mean length L end with probability 1/L after each packet, and between any two of
    /// them at least one packet arrives, so no more than L/(L+1) of all packets can be lost.
    public init?(probability: Double, meanLength: Double) {
      guard meanLength >= 1, meanLength.isFinite, probability >= 0,
        probability <= meanLength / (meanLength + 1)
      else { return nil }
      self.probability = probability
      self.meanLength = meanLength
    }

    /// The probability of going from the good to the bad state: what keeps the long-run share.
    var beginning: Double { probability / (meanLength * (1 - probability)) }
    /// The probability of going from the bad to the good state.
    var ending: Double { 1 / meanLength }
  }

  /// Packets that are overtaken by later ones.
  public struct Reordering: Sendable, Hashable {
    /// The probability that a packet is displaced: 0 … 1.
    public let probability: Double
    /// The largest number of later packets that overtake it, at least 1.
    public let depth: Int

    /// Makes a reordering, or `nil` when a value is out of its range.
    public init?(probability: Double, depth: Int) {
      guard (0...1).contains(probability), depth >= 1 else { return nil }
      self.probability = probability
      self.depth = depth
    }
  }
}

/// What a ``NetworkSimulator`` did, in packets.
public struct ImpairmentCounters: Sendable, Hashable {
  /// Packets given to the network.
  public var offered = 0
  /// Packets that left it: `offered - lost + duplicated`, without garbage.
  public var delivered = 0
  public var lost = 0
  /// Packets that were held until later ones had passed.
  public var reordered = 0
  public var duplicated = 0
  /// Random datagrams added.
  public var garbage = 0

  public init() {}

  /// Adds up two networks.
  mutating func add(_ other: ImpairmentCounters) {
    offered += other.offered
    delivered += other.delivered
    lost += other.lost
    reordered += other.reordered
    duplicated += other.duplicated
    garbage += other.garbage
  }
}

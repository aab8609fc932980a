/// The impairments of a network that hold together at one time.
///
/// Shares are probabilities from 0 to 1.
public struct Impairments: Sendable, Hashable {
  /// Nothing passes, as if the cable were pulled.
  public var isSilent = false
  public var rate: RateLimit?
  /// The share of packets lost independently of one another.
  public var loss = 0.0
  public var burstLoss: GilbertElliott?
  public var blockLoss: BlockLoss?
  /// The share of packets in which one to eight bits are flipped.
  public var corruption = 0.0
  /// The share of packets that are cut to a random length.
  public var truncation = 0.0
  /// The share of packets that random bytes make longer than an Ethernet frame.
  public var oversize = 0.0
  /// The share of packets that come twice.
  public var duplication = 0.0
  public var delay = Delay()
  public var reordering: Reordering?
  /// The share of packets that a datagram of random bytes follows.
  public var garbage = 0.0

  public init() {}

  /// A link that takes time for each packet, and drops what its queue has no room for.
  public struct RateLimit: Sendable, Hashable {
    /// With the 28 bytes of IPv4 and UDP headers of each packet.
    public let bitsPerSecond: Int
    /// The bytes that may wait, the packet that is being sent included.
    public let queue: Int

    public static let defaultQueue = 64_000

    /// Makes a limit, or `nil` when a value is out of its range.
    public init?(bitsPerSecond: Int, queue: Int = defaultQueue) {
      guard (1_000...1_000_000_000_000).contains(bitsPerSecond),
        (100...1_000_000_000).contains(queue)
      else { return nil }
      self.bitsPerSecond = bitsPerSecond
      self.queue = queue
    }
  }

  /// Of every block of packets exactly so many are lost, at random places: a short test has the
  /// losses that it counts on.
  public struct BlockLoss: Sendable, Hashable {
    public let lost: Int
    public let length: Int

    /// Makes a loss of `lost` packets in every `length`, or `nil` when there is none.
    public init?(_ lost: Int, of length: Int) {
      guard length >= 1, (0...length).contains(lost) else { return nil }
      self.lost = lost
      self.length = length
    }
  }

  /// Packets that are overtaken by later ones.
  public struct Reordering: Sendable, Hashable {
    /// The probability that a packet is displaced: 0 … 1.
    public let probability: Double
    /// The largest number of later packets that overtake it, at least 1.
    public let depth: Int
    /// How long it waits to be overtaken, at most, in nanoseconds.
    public let limit: Int64

    public static let defaultLimit: Int64 = 1_000_000_000

    /// Makes a reordering, or `nil` when a value is out of its range.
    public init?(probability: Double, depth: Int, within limit: Int64 = defaultLimit) {
      guard (0...1).contains(probability), (1...100_000).contains(depth), limit >= 0 else {
        return nil
      }
      self.probability = probability
      self.depth = depth
      self.limit = limit
    }
  }
}

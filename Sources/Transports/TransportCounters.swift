/// What a transport counts by itself: what all of them know, and counters of its own.
public struct TransportCounters: Sendable, Hashable {
  /// Where media is received, as `address:port`; `nil` before the transport is open.
  public var localAddress: String?
  /// Datagrams handed to the sink.
  public var delivered: UInt64 = 0
  public var deliveredBytes: UInt64 = 0
  /// Datagrams of no bytes.
  public var empty: UInt64 = 0
  /// How the media came in the end, where that is negotiated: `tcp`, `udp` or `multicast`.
  public var delivery: String?
  /// Whether the server asked for a digest of the password (RFC 7616).
  public var hasUsedDigest = false
  /// What the far end did that is not as it should be and was tolerated, each a sentence for the
  /// person who looks after it; at most 64.
  public var diagnostics: [String] = []
  /// The figures of its own counters, by what they were declared as.
  public private(set) var own: [TransportCounter: UInt64] = [:]

  public init() {}

  /// The figure of a counter; 0 where the transport does not have it.
  public subscript(counter: TransportCounter) -> UInt64 {
    get { own[counter, default: 0] }
    set { own[counter] = newValue }
  }

  /// The most diagnostics that are kept; more are of no help to anybody.
  static let maximumDiagnostics = 64

  /// The sums with those of connections before this one; what is no sum stays that of this one.
  public func added(to earlier: TransportCounters) -> TransportCounters {
    var sum = self
    sum.localAddress = localAddress ?? earlier.localAddress
    sum.delivery = delivery ?? earlier.delivery
    sum.hasUsedDigest = hasUsedDigest || earlier.hasUsedDigest
    sum.delivered += earlier.delivered
    sum.deliveredBytes += earlier.deliveredBytes
    sum.empty += earlier.empty
    for (counter, figure) in earlier.own {
      sum.own[counter] = own[counter].map { counter.joined($0, after: figure) } ?? figure
    }
    let new = diagnostics.filter { !earlier.diagnostics.contains($0) }
    sum.diagnostics = Array((earlier.diagnostics + new).prefix(Self.maximumDiagnostics))
    return sum
  }
}

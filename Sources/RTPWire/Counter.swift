/// One counter of a statistics struct: its name, what it counts, and where it is stored.
///
/// Sums over connections, the statistics as JSON, metrics, and balances are derived from tables of
/// these.
public struct Counter<Statistics>: Sendable {
  /// What is counted.
  public enum Unit: Sendable, Hashable {
    case packets, datagrams, bytes, payloads, units, accessUnits, frames, samples, messages, keys
    case sources
    /// Events, which have no better name.
    case times
  }

  /// What the figures of several connections come to.
  public enum Total: Sendable, Hashable {
    case sum
    case greatest
    /// That of the last connection, for what is counted down too.
    case latest
  }

  /// The side of the balance that a counter is on: what came in, or its outcome.
  public enum Side: Sendable, Hashable {
    case incoming
    case outcome
  }

  /// In lower case with underscores, as programs read it.
  public let name: String
  public let unit: Unit
  public let path: any WritableKeyPath<Statistics, UInt64> & Sendable
  /// `nil` for what is counted in another counter too.
  public let side: Side?
  public let total: Total
  /// What it is called in metrics; `nil` for the sum of counters that are there.
  public let metric: Metric?

  public init(
    _ name: String, _ unit: Unit, _ path: any WritableKeyPath<Statistics, UInt64> & Sendable,
    _ side: Side? = nil, total: Total = .sum, metric: Metric? = nil
  ) {
    self.metric = metric
    self.name = name
    self.unit = unit
    self.path = path
    self.side = side
    self.total = total
  }
}

/// Statistics with all counters in one table, so that they are listed only once.
public protocol Counted: Sendable {
  static var counters: [Counter<Self>] { get }
}

extension Counted {
  /// The names with the counts, in the order of the table.
  public var counts: [(name: String, count: UInt64)] {
    Self.counters.map { ($0.name, self[keyPath: $0.path]) }
  }

  /// Whether what came in is accounted for: both sides of the table have the same sum.
  public var isBalanced: Bool { sum(of: .incoming) == sum(of: .outcome) }

  /// Adds what connections before this one have counted.
  public mutating func add(_ earlier: Self) {
    for counter in Self.counters {
      let (own, former) = (self[keyPath: counter.path], earlier[keyPath: counter.path])
      switch counter.total {
      case .sum: self[keyPath: counter.path] = own &+ former
      case .greatest: self[keyPath: counter.path] = max(own, former)
      case .latest: break
      }
    }
  }

  private func sum(of side: Counter<Self>.Side) -> UInt64 {
    Self.counters.reduce(0) { $1.side == side ? $0 &+ self[keyPath: $1.path] : $0 }
  }
}

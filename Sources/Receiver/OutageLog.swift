import RTPWire
public import Reception

/// What a run has missed between its connections, in totals since the start.
public struct ReconnectionStatistics: Sendable {
  /// Connections opened or tried after the first.
  public internal(set) var attempts: UInt64 = 0
  /// Times that media came again after an outage.
  public internal(set) var recoveries: UInt64 = 0
  /// The length of all outages together.
  public internal(set) var withoutMedia: Duration = .zero
  /// The latest outages, at most 64, the one that lasts still among them.
  public internal(set) var outages: [Outage] = []

  /// A time without media, from the last packet before it to the first one after it.
  public struct Outage: Sendable {
    /// From the start of the run.
    public let start: Duration
    /// Until now where it has not ended.
    public internal(set) var length: Duration
    /// Connections that were tried in it.
    public internal(set) var attempts: Int
    /// What the first of the failures was.
    public let cause: EndReason
    public internal(set) var hasEnded: Bool
  }
}

/// Keeps the account of outages.
struct OutageLog: Sendable {
  /// The latest tell most; the totals count them all.
  static let maximumOutages = 64

  private var statistics = ReconnectionStatistics()
  private var runStart: Instant
  private var current: Instant?

  init(runStart: Instant) { self.runStart = runStart }

  /// A connection has ended; `lastMedia` is when media last came in this run.
  mutating func connectionEnded(because cause: EndReason, lastMedia: Instant?) {
    guard current == nil else { return }
    let start = lastMedia ?? runStart
    current = start
    if statistics.outages.count >= Self.maximumOutages { statistics.outages.removeFirst() }
    statistics.outages.append(
      ReconnectionStatistics.Outage(
        start: runStart.duration(to: start), length: .zero, attempts: 0, cause: cause,
        hasEnded: false))
  }

  mutating func noteAttempt() {
    statistics.attempts += 1
    statistics.outages.withLast { $0.attempts += 1 }
  }

  /// The first packet of media has come on a new connection.
  mutating func mediaCame(at now: Instant) {
    guard let start = current else { return }
    current = nil
    statistics.recoveries += 1
    statistics.withoutMedia += start.duration(to: now)
    statistics.outages.withLast { outage in
      outage.length = start.duration(to: now)
      outage.hasEnded = true
    }
  }

  /// The account, with the outage that lasts still counted up to `now`.
  func statistics(at now: Instant) -> ReconnectionStatistics {
    var statistics = statistics
    guard let start = current else { return statistics }
    statistics.withoutMedia += start.duration(to: now)
    statistics.outages.withLast { $0.length = start.duration(to: now) }
    return statistics
  }
}

extension Array {
  fileprivate mutating func withLast(_ body: (inout Element) -> Void) {
    guard let last = indices.last else { return }
    body(&self[last])
  }
}

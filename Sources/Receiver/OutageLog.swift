import Outputs
public import RTPWire
public import Reception
public import Transports

/// What a run missed between its connections, and between two senders on one connection, in totals
/// since the start.
public struct ReconnectionStatistics: Counted {
  /// Connection attempts after the first.
  public internal(set) var attempts: UInt64 = 0
  /// Times that media returned after an outage.
  public internal(set) var recoveries: UInt64 = 0
  /// Connections that ended or could not be opened, by what that says of the next attempt.
  public internal(set) var failures: [ConnectionFault.Kind: UInt64] = [:]
  /// The total length of all outages.
  public internal(set) var withoutMedia: Duration = .zero
  /// The latest outages, at most 64, including the current one.
  public internal(set) var outages: [Outage] = []

  public static let counters: [Counter<ReconnectionStatistics>] = [
    Counter(
      "attempts", .times, \.attempts,
      metric: Metric("reconnect_attempts", "Attempts to connect again.")),
    Counter(
      "reconnects", .times, \.recoveries,
      metric: Metric("reconnects", "Times that media came again after an outage.")),
  ]

  /// A period without media, from the last packet before it to the first one after it.
  public struct Outage: Sendable {
    /// Measured from the start of the run.
    public let start: Duration
    /// The same in UTC, by what this machine's clock said when the outage was noted.
    public let startTime: WallClockTime
    /// Up to now if it has not ended.
    public internal(set) var length: Duration
    /// Connection attempts during it.
    public internal(set) var attempts: Int
    /// The first failure.
    public let cause: EndReason
    public internal(set) var hasEnded: Bool
  }
}

/// Records outages.
struct OutageLog: Sendable {
  /// The latest matter most; the totals count them all.
  static let maximumOutages = 64

  private var statistics = ReconnectionStatistics()
  private let runStart: Instant
  private let clock: WallClock
  private var current: Instant?

  init(runStart: Instant, clock: WallClock = .system) {
    (self.runStart, self.clock) = (runStart, clock)
  }

  /// Notes the end of a connection; `lastMedia` is when media last came in this run.
  mutating func connectionEnded(
    because cause: EndReason, fault: ConnectionFault, lastMedia: Instant?
  ) {
    statistics.failures[fault.kind, default: 0] += 1
    guard current == nil else { return }
    let start = lastMedia ?? runStart
    current = start
    add(
      ReconnectionStatistics.Outage(
        start: runStart.duration(to: start), startTime: clock.time(of: start), length: .zero,
        attempts: 0, cause: cause, hasEnded: false))
  }

  /// Notes that another sender went on at `now`, on the same connection, where the former one had
  /// stopped at `lastMedia`.
  mutating func senderCame(at now: Instant, after lastMedia: Instant) {
    let length = lastMedia.duration(to: now)
    statistics.withoutMedia += length
    add(
      ReconnectionStatistics.Outage(
        start: runStart.duration(to: lastMedia), startTime: clock.time(of: lastMedia),
        length: length, attempts: 0, cause: .mediaLost(after: length), hasEnded: true))
  }

  private mutating func add(_ outage: ReconnectionStatistics.Outage) {
    if statistics.outages.count >= Self.maximumOutages { statistics.outages.removeFirst() }
    statistics.outages.append(outage)
  }

  mutating func noteAttempt() {
    statistics.attempts += 1
    // A connection that goes on where the former one ended is none of an outage.
    guard current != nil else { return }
    statistics.outages.withLast { $0.attempts += 1 }
  }

  /// Notes the first packet of media on a new connection.
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

  /// The totals at `now`, including the current outage.
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

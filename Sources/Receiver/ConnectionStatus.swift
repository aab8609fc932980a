public import RTPWire

/// How it went with the connections of a run that connects again.
public struct ConnectionStatus: Sendable, Hashable {
  /// A time in which there was no connection, or one without media.
  public struct Gap: Sendable, Hashable {
    /// When the last media before it came, in nanoseconds since the run began.
    public var start: Int64
    /// Nanoseconds until media came again; `nil` while it has not.
    public var duration: Int64?
    /// What ended the connection before, in words.
    public var reason: String
  }

  /// Gaps kept; of more than these only the sums are.
  public static let maximumGaps = 256

  /// Connections opened after the first.
  public internal(set) var reconnects: UInt64 = 0
  /// Nanoseconds in gaps that have ended.
  public internal(set) var missed: Int64 = 0
  /// The latest gaps, in order.
  public internal(set) var gaps: [Gap] = []
  /// When the next attempt is made, while there is no connection.
  public internal(set) var nextAttempt: Instant?

  public init() {}

  /// Whole seconds until the next attempt, rounded up; `nil` while there is a connection.
  public var secondsUntilNextAttempt: Int? {
    nextAttempt.map { Int((max(0, Instant.now.nanoseconds(to: $0)) + 999_999_999) / 1_000_000_000) }
  }

  mutating func begin(_ gap: Gap) {
    guard gaps.last?.duration != nil || gaps.isEmpty else { return }
    if gaps.count == Self.maximumGaps { gaps.removeFirst() }
    gaps.append(gap)
  }

  /// Media has come, so many nanoseconds since the run began.
  mutating func endGap(at now: Int64) {
    guard let last = gaps.indices.last, gaps[last].duration == nil else { return }
    let duration = max(0, now.subtractingSaturating(gaps[last].start))
    gaps[last].duration = duration
    missed = missed.addingSaturating(duration)
  }
}

internal import RTPWire

/// How many bytes of a connection are to wait before the kernel tells of them (`SO_RCVLOWAT`): as
/// many as come in a given time, by the rate of the last second.
struct GatheringMark: Sendable {
  /// In bytes.
  private(set) var value = 1
  private let time: Duration
  private var count = 0
  private var countedSince: Instant
  private var lastRead: Instant

  /// A quarter of a second of 16 Mbit/s.
  ///
  /// The kernel makes its buffer twice as large, so that the far end need not wait.
  static let greatest = 512 << 10
  /// The rate is measured anew after this time.
  static let period = Duration.seconds(1)
  /// Where less comes than before, what waits is read after this time.
  static let patience = Duration.seconds(2)

  /// Begins at `now`, with every byte told.
  init(for time: Duration, at now: Instant) {
    self.time = time
    (countedSince, lastRead) = (now, now)
  }

  /// When to call ``timePassed(to:)`` if nothing is read before; `nil` while every byte is told.
  var deadline: Instant? { value > 1 ? lastRead.advanced(by: Self.patience) : nil }

  /// Notes that `bytes` were read at `now`; returns whether ``value`` has changed.
  mutating func noteRead(of bytes: Int, at now: Instant) -> Bool {
    lastRead = now
    count += bytes
    let elapsed = countedSince.duration(to: now)
    guard elapsed >= Self.period else { return false }
    let most = min(max(Int(Double(count) * (time / elapsed)), 1), Self.greatest)
    (count, countedSince) = (0, now)
    // A system call for each small change would cost more than it saves.
    guard abs(most - value) > value / 8 else { return false }
    value = most
    return true
  }

  /// Moves the time forward; returns whether ``value`` has changed.
  ///
  /// Where nothing came for long, what has come and what comes next is read at once.
  mutating func timePassed(to now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    (value, count, countedSince) = (1, 0, now)
    return true
  }
}

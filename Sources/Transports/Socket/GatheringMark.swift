internal import RTPWire

/// How many bytes of a connection are to wait before the kernel tells of them (`SO_RCVLOWAT`): as
/// many as come in a given time, by the rate of the last second.
struct GatheringMark: Sendable {
  /// In bytes.
  private(set) var value = 1
  private let time: Duration
  /// What the mark is to be, by the rate of the last second.
  private var wanted = 1
  private var count = 0
  private var countedSince: Instant
  private var lastRead: Instant

  /// Half a second of 8 Mbit/s.
  ///
  /// The kernel makes its buffer twice as large, so that the far end need not wait.
  static let greatest = 512 << 10
  /// The rate is measured anew after this time.
  static let period = Duration.seconds(1)
  /// How much longer than wanted bytes may gather where less comes than before.
  ///
  /// The pictures between two key pictures bring a fifth less than the mean.
  static let patience = 1.25

  /// Begins at `now`, with every byte told.
  init(for time: Duration, at now: Instant) {
    self.time = time
    (countedSince, lastRead) = (now, now)
  }

  /// When to call ``timePassed(to:)`` if nothing is read before; `nil` while every byte is told.
  var deadline: Instant? { value > 1 ? lastRead.advanced(by: time * Self.patience) : nil }

  /// Notes that `bytes` were read at `now`; returns whether ``value`` has changed.
  mutating func noteRead(of bytes: Int, at now: Instant) -> Bool {
    lastRead = now
    count += bytes
    let elapsed = countedSince.duration(to: now)
    if elapsed >= Self.period {
      wanted = min(max(Int(Double(count) * (time / elapsed)), 1), Self.greatest)
      (count, countedSince) = (0, now)
    }
    // A system call for each small change would cost more than it saves.
    guard abs(wanted - value) > value / 8 else { return false }
    value = wanted
    return true
  }

  /// Moves the time forward; returns whether ``value`` has changed.
  ///
  /// At the deadline, what has come is read, or what comes next if nothing has.
  mutating func timePassed(to now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    value = 1
    return true
  }
}

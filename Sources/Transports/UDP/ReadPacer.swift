internal import RTPWire

/// Whether to read at the next datagram, or to let some gather in the kernel first.
///
/// A wake-up costs several times as much as a datagram. Up to camera rates each datagram is read as
/// it arrives; above, reads are spaced so that each one returns several. The rate is measured over
/// a window longer than the burst of any key frame, so bursts are never delayed.
///
/// Times are in nanoseconds, because arithmetic on `Duration` takes long after each read.
struct ReadPacer: Sendable {
  private let fastRate: Double
  private let slowRate: Double
  private var windowStart: Instant?
  private var inWindow = 0
  private var isSpacing = false
  /// Of the last minute, and of the minute before.
  private var most = (now: 0, before: 0)
  private var minuteStart: Instant?
  /// Datagrams a second in the last window.
  private var rate = 0.0
  /// The same over a longer time, once it is known.
  private var meanRate: Double?
  private var secondStart: Instant?
  private var inSecond = 0
  /// How long datagrams may gather while others can still come in bursts; 0 if not at all.
  private var gatheringTime: Int64 = 0
  /// How many datagrams the kernel holds.
  private var capacity = 0

  /// Spaces reads from `fastRate` datagrams per second on, until there are fewer than `slowRate`.
  init(fastRate: Double = Self.fastRate, slowRate: Double = Self.slowRate) {
    self.fastRate = fastRate
    self.slowRate = slowRate
  }

  /// From now on spaces reads by up to `time`, in nanoseconds, as long as what comes meanwhile,
  /// with a burst like those of the last minute, fills half of the kernel's buffer of `bufferSize`
  /// bytes at most.
  ///
  /// At rates where reads are spaced anyway, the gaps grow to what fills an eighth.
  mutating func gather(for time: Int64, bufferSize: Int) {
    gatheringTime = max(time, 0)
    capacity = bufferSize / Self.bytesPerDatagram
  }

  /// Notes that a read returned `count` datagrams at `now`.
  ///
  /// - Returns: nanoseconds until the next read, or `nil` to read as soon as a datagram arrives.
  mutating func delay(afterReading count: Int, now: Instant) -> Int64? {
    inWindow += count
    let start = windowStart ?? now
    windowStart = start
    let elapsed = start.nanoseconds(to: now)
    if elapsed >= Self.window {
      rate = Double(inWindow) / Double(elapsed) * 1e9
      isSpacing = rate >= (isSpacing ? slowRate : fastRate)
      noteWindow(from: start, to: now)
      windowStart = now
      inWindow = 0
    }
    // After an empty read the stream may have paused, so wait for the next datagram.
    guard count > 0 else { return nil }
    return isSpacing ? spacing : gathering
  }

  /// Nanoseconds between reads of a fast stream.
  private var spacing: Int64 {
    guard gatheringTime > 0, rate > 0 else { return Self.spacing }
    let time = min(Double(gatheringTime), Double(capacity / 8) / rate * 1e9)
    return max(Int64(time), Self.spacing)
  }

  private mutating func noteWindow(from start: Instant, to now: Instant) {
    let minute = minuteStart ?? start
    minuteStart = minute
    if minute.nanoseconds(to: now) >= Self.memory {
      most = (0, most.now)
      minuteStart = now
    }
    most.now = max(most.now, inWindow)
    let second = secondStart ?? start
    secondStart = second
    inSecond += inWindow
    let elapsed = second.nanoseconds(to: now)
    guard elapsed >= Self.ratePeriod else { return }
    meanRate = Double(inSecond) / Double(elapsed) * 1e9
    (secondStart, inSecond) = (now, 0)
  }

  /// For how long datagrams may gather.
  private var gathering: Int64? {
    guard gatheringTime > 0, let meanRate, meanRate > 0 else { return nil }
    // A burst may come at any time, and the rate may double.
    let room = Double(capacity / 2 - max(most.now, most.before))
    let time = min(Double(gatheringTime), room / (2 * meanRate) * 1e9)
    return time >= Double(Self.shortestGathering) ? Int64(time) : nil
  }

  /// Nanoseconds over which the rate is measured.
  ///
  /// A key frame of 1.5 MB, larger than those of 4K cameras, is 1,100 packets, so any window stays
  /// below ``fastRate``.
  static let window: Int64 = 100_000_000
  /// The same for the mean rate.
  static let ratePeriod: Int64 = 1_000_000_000
  /// Nanoseconds for which bursts are remembered at least.
  static let memory: Int64 = 60_000_000_000
  /// Datagrams per second from which reads are spaced: 134 Mbit/s in packets of 1,400 bytes.
  static let fastRate = 12_000.0
  /// Datagrams per second below which spacing ends; lower, so that it does not flap.
  static let slowRate = 9_000.0
  /// What the kernel counts for a datagram of 1,400 bytes, at most, by the half that it grants.
  static let bytesPerDatagram = 2048
  /// Less is not worth a timer: a camera sends a picture every 30 to 40 ms.
  static let shortestGathering: Int64 = 60_000_000
  /// Nanoseconds between reads where somebody waits for what comes.
  ///
  /// With the event loop this adds 0.5 ms at most; meanwhile 50 packets arrive at 100,000 per
  /// second, and a buffer of 4 MiB holds 1,800.
  static let spacing: Int64 = 450_000
}

internal import RTPWire

/// Whether to read at the next datagram, or to let some gather in the kernel first.
///
/// A wake-up costs several times as much as a datagram. Up to camera rates each datagram is read as
/// it arrives; above, reads are spaced so that each one returns several. The rate is measured over
/// a window longer than the burst of any key frame, so bursts are never delayed.
struct ReadPacer: Sendable {
  private let fastRate: Double
  private let slowRate: Double
  private var windowStart: Instant?
  private var inWindow = 0
  private var isSpacing = false

  /// Spaces reads from `fastRate` datagrams per second on, until there are fewer than `slowRate`.
  init(fastRate: Double = Self.fastRate, slowRate: Double = Self.slowRate) {
    self.fastRate = fastRate
    self.slowRate = slowRate
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
      let datagramsPerSecond = Double(inWindow) / Double(elapsed) * 1e9
      isSpacing = datagramsPerSecond >= (isSpacing ? slowRate : fastRate)
      windowStart = now
      inWindow = 0
    }
    // After an empty read the stream may have paused, so wait for the next datagram.
    return isSpacing && count > 0 ? Self.spacing : nil
  }

  /// Nanoseconds over which the rate is measured.
  ///
  /// A key frame of 1.5 MB, larger than those of 4K cameras, is 1,100 packets, so any window stays
  /// below ``fastRate``.
  static let window: Int64 = 100_000_000
  /// Datagrams per second from which reads are spaced: 134 Mbit/s in packets of 1,400 bytes.
  static let fastRate = 12_000.0
  /// Datagrams per second below which spacing ends; lower, so that it does not flap.
  static let slowRate = 9_000.0
  /// Nanoseconds between reads.
  ///
  /// With the event loop this adds 0.5 ms at most; meanwhile 50 packets arrive at 100,000 per
  /// second, and a buffer of 4 MiB holds 1,800.
  static let spacing: Int64 = 450_000
}

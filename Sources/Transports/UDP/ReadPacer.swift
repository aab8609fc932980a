internal import RTPWire

/// Whether the next read waits for the next datagram, or lets some gather in the kernel first.
///
/// A wake-up costs several times what a datagram costs. Up to camera rates each datagram is read
/// as it arrives; above, reads are spaced so that each one brings several. The rate is taken over a
/// window that is longer than the burst of any key frame, so bursts are never held back.
struct ReadPacer: Sendable {
  private let fastRate: Double
  private let slowRate: Double
  private var windowStart: Instant?
  private var inWindow = 0
  private var isSpacing = false

  /// Spaces reads from `fastRate` datagrams a second on, until there are fewer than `slowRate`.
  init(fastRate: Double = Self.fastRate, slowRate: Double = Self.slowRate) {
    self.fastRate = fastRate
    self.slowRate = slowRate
  }

  /// Takes in that a read returned `count` datagrams at `now`.
  ///
  /// - Returns: Nanoseconds to the next read, or `nil` when it is due as soon as there is something
  ///   to read.
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
    // After a read that found nothing the stream may have paused: the next datagram tells.
    return isSpacing && count > 0 ? Self.spacing : nil
  }

  /// Nanoseconds over which the rate is measured: a key frame of 1.5 MB, larger than those of 4K
  /// cameras, is 1,100 packets and with all around it stays below ``fastRate`` in any window.
  static let window: Int64 = 100_000_000
  /// Datagrams a second from which on reads are spaced: 134 Mbit/s in packets of 1,400 bytes.
  static let fastRate = 12_000.0
  /// Datagrams a second below which spacing ends again; lower, so that it does not flutter.
  static let slowRate = 9_000.0
  /// Nanoseconds from read to read; with the way through the event loop this adds 0.5 ms at most,
  /// in which 50 packets come at 100,000 a second, of 1,800 that a buffer of 4 MiB holds.
  static let spacing: Int64 = 450_000
}

internal import RTPWire

/// How long to let datagrams gather in the kernel before the next read.
///
/// A wake-up costs several times what a datagram costs. Up to camera rates each datagram is read
/// as it arrives; above, reads are spaced so that each one brings many. The rate is taken over a
/// window that is longer than the burst of any key frame, so bursts are never held back.
struct ReadPacer: Sendable {
  private var windowStart: Instant?
  private var inWindow = 0
  private var isSpacing = false

  /// Takes in that a read returned `count` datagrams at `now`, out of at most `capacity`.
  ///
  /// - Returns: Nanoseconds to wait before the next read: 0, or ``spacing``.
  mutating func delay(afterReading count: Int, of capacity: Int, now: Instant) -> Int64 {
    inWindow += count
    let start = windowStart ?? now
    windowStart = start
    let elapsed = start.nanoseconds(to: now)
    if elapsed >= Self.window {
      let packetsPerSecond = Double(inWindow) / Double(elapsed) * 1e9
      isSpacing = packetsPerSecond >= (isSpacing ? Self.slowRate : Self.fastRate)
      windowStart = now
      inWindow = 0
    }
    // A full read means that there is more already.
    return isSpacing && count < capacity ? Self.spacing : 0
  }

  /// Nanoseconds over which the rate is measured: a 1 MB key frame, the largest of a 4K camera,
  /// is 750 packets and stays below ``fastRate`` in any window.
  static let window: Int64 = 100_000_000
  /// Datagrams a second from which on reads are spaced: 90 Mbit/s in packets of 1,400 bytes.
  static let fastRate = 8_000.0
  /// Datagrams a second below which spacing ends again; lower, so that it does not flutter.
  static let slowRate = 6_000.0
  /// Nanoseconds between reads; with the kernel's timer slack this adds less than 0.5 ms, in which
  /// a buffer of 4 MiB takes 1,000,000 packets a second.
  static let spacing: Int64 = 400_000
}

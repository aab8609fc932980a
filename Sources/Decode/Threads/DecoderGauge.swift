import RTPWire
import Synchronization

/// How busy a decoder is, for those who ask from other threads.
final class DecoderGauge: Sendable {
  /// How long a share counts: a decoder that gets nothing says nothing.
  static let validity: Duration = .seconds(3)

  private let threadCount = Atomic(1)
  private let permille = Atomic(0)
  /// When that was noted, in nanoseconds.
  private let time = Atomic(Int64.min)

  var threads: Int { threadCount.load(ordering: .relaxed) }

  /// How much of the last second it worked, from 0 to 1; 0 if it has had nothing to do since.
  func share(at now: Instant) -> Double {
    let noted = Instant(nanoseconds: time.load(ordering: .acquiring))
    guard noted.duration(to: now) <= Self.validity else { return 0 }
    return Double(permille.load(ordering: .relaxed)) / 1000
  }

  func note(threads: Int) { threadCount.store(threads, ordering: .relaxed) }

  func note(share: Double, at now: Instant) {
    permille.store(Int(share * 1000), ordering: .relaxed)
    time.store(now.nanoseconds, ordering: .releasing)
  }
}

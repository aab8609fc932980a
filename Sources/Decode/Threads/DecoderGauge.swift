import Synchronization

/// How busy a decoder is, for those who ask from other threads.
final class DecoderGauge: Sendable {
  private let threadCount = Atomic(1)
  private let permille = Atomic(0)

  var threads: Int { threadCount.load(ordering: .relaxed) }
  /// How much of the last second it worked, from 0 to 1.
  var share: Double { Double(permille.load(ordering: .relaxed)) / 1000 }

  func note(threads: Int) { threadCount.store(threads, ordering: .relaxed) }

  func note(share: Double) { permille.store(Int(share * 1000), ordering: .relaxed) }
}

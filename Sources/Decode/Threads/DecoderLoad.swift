import RTPWire

/// How much of the time a decoder works: where it is nearly all, it does not keep up.
struct DecoderLoad: Sendable {
  /// What it must be for others to help: what is left is for the output of frames.
  static let full = 0.9
  /// How long is looked at: a burst after a gap on the network is no lack of speed.
  private static let window: Int64 = 1_000_000_000

  /// From 0 to 1, in the last second.
  var share = 0.0
  private var begin: (time: Instant, worked: Int64)?

  var isFull: Bool { share >= Self.full }

  /// Notes that it has worked for so many nanoseconds in all, at `now`.
  mutating func note(_ worked: Int64, at now: Instant) {
    guard let begin else {
      self.begin = (now, worked)
      return
    }
    let elapsed = begin.time.nanoseconds(to: now)
    guard elapsed >= Self.window else { return }
    share = min(Double(worked - begin.worked) / Double(elapsed), 1)
    self.begin = (now, worked)
  }

  /// Begins anew, for another decoder.
  mutating func restart() { self = DecoderLoad() }
}

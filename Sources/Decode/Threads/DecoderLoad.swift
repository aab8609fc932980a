import RTPWire

/// How much of the time the decoder's thread decodes: where it is nearly all, it does not keep up.
struct DecoderLoad: Sendable {
  /// What it must be for others to help: what is left is for the output of frames.
  static let full = 0.9
  /// How long is looked at: a burst after a gap on the network is no lack of speed.
  private static let window: Int64 = 1_000_000_000

  /// From 0 to 1, in the last second.
  var share = 0.0
  private var begin: Instant?
  private var busy: Int64 = 0

  var isFull: Bool { share >= Self.full }

  /// Notes that decoding took `nanoseconds`, up to `now`.
  mutating func note(_ nanoseconds: Int64, at now: Instant) {
    guard let begin else {
      self.begin = now
      return
    }
    busy = busy.addingSaturating(nanoseconds)
    let elapsed = begin.nanoseconds(to: now)
    guard elapsed >= Self.window else { return }
    share = min(Double(busy) / Double(elapsed), 1)
    (self.begin, busy) = (now, 0)
  }

  /// Begins anew, for another decoder.
  mutating func restart() { self = DecoderLoad() }
}

import Outputs
import RTPWire

/// How long a stream that has ended waits for a decoder of which nothing comes: it may be waiting
/// for a reader or a disk that has stalled.
struct DecodingPatience: Sendable {
  /// How long it may take to the first picture: no reader holds that up, but the decoder's process
  /// may still be starting, which takes long on a busy machine.
  private static let startingTime: Duration = .seconds(10)

  private var decoded: UInt64?
  /// When that many were first seen to be decoded.
  private var since: Instant

  /// Begins to wait at `now`.
  init(at now: Instant) { since = now }

  /// How long the next access unit may take, now that `decoded` are done; `nil` once nothing has
  /// come for too long.
  ///
  /// `mayAwaitDisk` says that an output is a file, which has more time than a reader.
  mutating func rest(decoded: UInt64, mayAwaitDisk: Bool, at now: Instant) -> Duration? {
    if decoded != self.decoded { (self.decoded, since) = (decoded, now) }
    let longest =
      mayAwaitDisk
      ? OutputLane.longestStoring
      : decoded == 0 ? Self.startingTime : OutputLane.longestFinish
    let rest = longest - since.duration(to: now)
    return rest > .zero ? rest : nil
  }
}

import Bitstream
import Decode
import Defragment
import RTPWire

/// Decides whether an access unit is written by the thread that brings it, or by the output's own.
///
/// At camera rates the output's own thread writes, so that a disk that stalls delays nothing else.
/// When units come in quick succession, waking that thread for each one costs more than writing it,
/// and its core has to fetch the bytes from the other's cache; then they are written where they
/// are, until a write takes so long that receiving would suffer.
struct OutputShortcut: Sendable {
  /// The mean distance of units from which on they come in quick succession: a key frame's burst
  /// alone does not, nor does a camera of 120 frames a second.
  static let quickSuccession: Int64 = 5_000_000
  /// Nanoseconds that a write may take: the socket's buffer holds much longer.
  static let longWrite: Int64 = 20_000_000
  /// How long the output's own thread writes after a long write.
  static let rest = Duration.seconds(10)

  private var meanDistance: Int64 = 1_000_000_000
  private var lastArrival: Instant?
  private var closedUntil: Instant?
  private var isClosedForever = false

  /// Whether `unit` may be written at once.
  mutating func isOpen(for unit: AccessUnit) -> Bool {
    guard !isClosedForever else { return false }
    if let lastArrival {
      let distance = max(0, min(lastArrival.nanoseconds(to: unit.lastArrival), 1_000_000_000))
      meanDistance += (distance - meanDistance) / 16
    }
    lastArrival = unit.lastArrival
    return meanDistance < Self.quickSuccession && closedUntil.map { $0 <= unit.lastArrival } ?? true
  }

  mutating func note(writeFrom start: Instant, to end: Instant) {
    if start.nanoseconds(to: end) > Self.longWrite { closedUntil = end.advanced(by: Self.rest) }
  }

  /// The target is no regular file: whoever reads a pipe decides how long a write takes.
  mutating func closeForever() { isClosedForever = true }
}

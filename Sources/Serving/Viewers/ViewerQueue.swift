import BlockingIO
import NIOCore
import RTPWire

/// The pictures of one camera that wait for one viewer.
///
/// A viewer that lags is taken to the newest key picture that waits, or to the next one that comes.
struct ViewerQueue: Sendable {
  /// More than the group with which a viewer begins.
  static let limits = QueueLimits(count: 700, bytes: 10 << 20)
  /// How far a viewer may lag behind.
  static let longestWait = Duration.milliseconds(1500)

  /// A picture, and how many were left out before it.
  struct Element: Sendable {
    let unit: BrowserUnit
    let skipped: Int
  }

  private var waiting = CircularBuffer<(unit: BrowserUnit, since: Instant)>()
  /// The newest one: a camera may offer it to somebody who has begun with its group meanwhile.
  private var newest: BrowserUnit?
  private var bytes = 0
  private var skipped = 0
  private var awaitsKey = true
  private var hasBegun = false

  /// Begins with `group`.
  init(_ group: PictureGroup, at now: Instant) {
    for unit in group.beginning { append(unit, at: now) }
  }

  var isEmpty: Bool { waiting.isEmpty }
  /// What comes next.
  var first: BrowserUnit? { waiting.first?.unit }

  mutating func append(_ unit: BrowserUnit, at now: Instant) {
    guard unit !== newest else { return }
    newest = unit
    if awaitsKey, !unit.isKey {
      if hasBegun { skipped += 1 }
      return
    }
    hasBegun = true
    awaitsKey = false
    waiting.append((unit, now))
    bytes += unit.size
    let isLate = waiting.first.map { $0.since.duration(to: now) > Self.longestWait } ?? false
    if isLate || waiting.count > Self.limits.count || bytes > Self.limits.bytes { catchUp() }
  }

  /// Leaves out what comes before the newest key picture; everything, if none waits.
  private mutating func catchUp() {
    let key = waiting.lastIndex { $0.unit.isKey }
      .map { waiting.distance(from: waiting.startIndex, to: $0) }
    // A group of pictures that is too much by itself is no use.
    let leftOut = key.map { $0 > 0 ? $0 : waiting.count } ?? waiting.count
    skipped += leftOut
    waiting.removeFirst(leftOut)
    bytes = waiting.reduce(0) { $0 + $1.unit.size }
    awaitsKey = waiting.isEmpty
  }

  mutating func next() -> Element? {
    guard let first = waiting.popFirst() else { return nil }
    bytes -= first.unit.size
    defer { skipped = 0 }
    return Element(unit: first.unit, skipped: skipped)
  }
}

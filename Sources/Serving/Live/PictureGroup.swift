import BlockingIO

/// The pictures from the newest key picture on, with which a new viewer begins at once.
///
/// They are kept by reference, in the memory in which they came. Of a group that is too long, the
/// beginning is kept, of which snapshots are still made.
struct PictureGroup: Sendable {
  /// Four seconds of 16 Mbit/s.
  static let limits = QueueLimits(count: 600, bytes: 8 << 20)
  /// Of all cameras together while nobody watches them, as far as each has ``least``.
  static let allUnwatched = 64 << 20
  /// Two seconds of 2 Mbit/s.
  static let least = 512 << 10

  private(set) var units: [BrowserUnit] = []
  /// Whether others came behind the ``units``, and were too many to be kept.
  private(set) var isCut = false
  private var bytes = 0

  /// What a viewer begins with; nothing where pictures would be missing behind it.
  var beginning: [BrowserUnit] { isCut ? [] : units }

  /// Takes the next unit; what is beyond `limit` bytes is left out, up to the next key picture.
  mutating func append(_ unit: BrowserUnit, within limit: Int = Self.limits.bytes) {
    if unit.isKey {
      clear()
    } else if units.isEmpty {
      return
    }
    if !isCut {
      bytes += unit.size
      units.append(unit)
    }
    // The limit may have been greater before.
    while units.count > Self.limits.count || bytes > limit, let last = units.popLast() {
      bytes -= last.size
      isCut = true
    }
  }

  private mutating func clear() {
    units.removeAll(keepingCapacity: units.count < Self.limits.count)
    isCut = false
    bytes = 0
  }
}

import BlockingIO

/// The pictures from the newest key picture on, with which a new viewer begins at once.
///
/// They are kept by reference, in the memory in which they came.
struct PictureGroup: Sendable {
  /// Four seconds of 16 Mbit/s; groups that grow beyond are not kept.
  static let limits = QueueLimits(count: 600, bytes: 8 << 20)
  /// Of all cameras together while nobody watches them, as far as each has ``least``.
  static let allUnwatched = 64 << 20
  /// Two seconds of 2 Mbit/s.
  static let least = 512 << 10

  private(set) var units: [BrowserUnit] = []
  private var bytes = 0

  /// Takes the next unit; a group of more than `limit` bytes is forgotten.
  mutating func append(_ unit: BrowserUnit, within limit: Int = Self.limits.bytes) {
    if unit.isKey {
      clear()
    } else if units.isEmpty {
      return
    }
    bytes += unit.size
    units.append(unit)
    if units.count > Self.limits.count || bytes > limit { clear() }
  }

  /// Forgets all, until the next key picture.
  mutating func clear() {
    units.removeAll(keepingCapacity: units.count < Self.limits.count)
    bytes = 0
  }
}

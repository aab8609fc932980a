/// Elements by number, of which the lowest leaves first; of equal ones, the one that came first.
///
/// A heap: what one element costs hardly depends on how many wait, whatever the order in which a
/// sender numbers them.
struct NumberedHeap<Element: Sendable>: Sendable {
  private struct Entry: Sendable {
    let number: Int64
    /// The place among all that ever came.
    let place: UInt64
    let element: Element

    func precedes(_ other: Entry) -> Bool { (number, place) < (other.number, other.place) }
  }

  /// The entry at index n precedes those at 2n + 1 and 2n + 2.
  private var entries: [Entry] = []
  private var arrivals: UInt64 = 0
  /// The greatest number that waits: it leaves last.
  private(set) var greatest: Int64?

  var count: Int { entries.count }

  /// The lowest number.
  var first: Int64? { entries.first?.number }

  mutating func insert(_ element: Element, number: Int64) {
    arrivals += 1
    greatest = max(greatest ?? number, number)
    entries.append(Entry(number: number, place: arrivals, element: element))
    var child = entries.count - 1
    while child > 0, entries[child].precedes(entries[(child - 1) / 2]) {
      entries.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func removeFirst() -> (number: Int64, element: Element)? {
    guard let first = entries.first else { return nil }
    let last = entries.removeLast()
    if entries.isEmpty {
      greatest = nil
    } else {
      entries[0] = last
      sink()
    }
    return (first.number, first.element)
  }

  /// Puts the first entry, which may be too great, in its place.
  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < entries.count && entries[child].precedes(entries[least]) {
        least = child
      }
      guard least != parent else { return }
      entries.swapAt(parent, least)
      parent = least
    }
  }
}

/// Datagrams on their way, ordered by time, then by arrival.
///
/// A binary heap: at high packet rates a few milliseconds of jitter keep thousands of packets here.
struct ReleaseQueue: Sendable {
  private struct Entry {
    var release: NetworkSimulator.Release
    var order: Int

    static func < (left: Entry, right: Entry) -> Bool {
      (left.release.time, left.order) < (right.release.time, right.order)
    }
  }

  private var heap: [Entry] = []
  private var nextOrder = 0

  var count: Int { heap.count }
  var first: NetworkSimulator.Release? { heap.first?.release }

  mutating func insert(_ release: NetworkSimulator.Release) {
    heap.append(Entry(release: release, order: nextOrder))
    nextOrder &+= 1
    var index = heap.count - 1
    while index > 0, heap[index] < heap[(index - 1) / 2] {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func popFirst() -> NetworkSimulator.Release? {
    guard let last = heap.popLast() else { return nil }
    guard let first = heap.first else { return last.release }
    heap[0] = last
    var index = 0
    while true {
      let children = (2 * index + 1..<2 * index + 3).clamped(to: 0..<heap.count)
      guard let least = children.min(by: { heap[$0] < heap[$1] }), heap[least] < heap[index] else {
        return first.release
      }
      heap.swapAt(index, least)
      index = least
    }
  }
}

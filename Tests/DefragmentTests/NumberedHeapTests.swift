import TestSupport
import Testing

@testable import Defragment

struct NumberedHeapTests {
  @Test("The lowest number leaves first, and of equal ones the first that came", arguments: 1...20)
  func order(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var heap = NumberedHeap<Int>()
    var model: [(number: Int64, element: Int)] = []
    for element in 0..<2000 {
      if Int.random(in: 0..<5, using: &random) < 3 {
        let number = Int64.random(in: -8...8, using: &random)
        heap.insert(element, number: number)
        model.append((number, element))
      } else {
        let place = model.indices.min { (model[$0].number, $0) < (model[$1].number, $1) }
        let expected = place.map { model.remove(at: $0) }
        let removed = heap.removeFirst()
        #expect(removed?.number == expected?.number && removed?.element == expected?.element)
      }
      #expect(heap.count == model.count)
      #expect(heap.first == model.map(\.number).min())
      #expect(heap.greatest == model.map(\.number).max())
    }
  }
}

import Synchronization
import Testing

@testable import Outputs

@Suite struct LivingOutputsTests {
  enum Step { case waits, mayNotWait, goesOn, leaves }

  /// What each output does, and after which step the run ends.
  @Test(
    arguments: [
      ([(0, .leaves), (1, .leaves)], 1),
      ([(0, .mayNotWait), (0, .leaves)], 1),
      ([(0, .waits), (1, .leaves), (0, .leaves)], 1),
      ([(0, .waits), (1, .mayNotWait), (1, .leaves), (0, .leaves)], 2),
      ([(0, .waits), (0, .goesOn), (1, .leaves), (0, .leaves)], 3),
      ([(0, .waits), (0, .leaves), (1, .leaves)], 2),
    ] as [([(Int, Step)], Int)])
  func theRunEndsWithTheLastThatGoesOn(steps: [(Int, Step)], end: Int) {
    let hasEnded = Counter()
    let outputs = LivingOutputs(count: steps.contains { $0.0 == 1 } ? 2 : 1) { hasEnded.increase() }
    for (index, (number, step)) in steps.enumerated() {
      let place = outputs.place(number)
      switch step {
      case .waits: #expect(place.wait())
      case .mayNotWait: #expect(!place.wait())
      case .goesOn: place.goOn()
      case .leaves: place.leave()
      }
      #expect(hasEnded.count == (index >= end ? 1 : 0), "after step \(index)")
    }
  }

  private final class Counter: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .relaxed) }

    func increase() { value.add(1, ordering: .relaxed) }
  }
}

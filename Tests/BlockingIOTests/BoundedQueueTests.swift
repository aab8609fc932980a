import BlockingIO
import RTPWire
import Synchronization
import TestSupport
import Testing

@Suite("The line in front of a thread", .timeLimit(.minutes(1)))
struct BoundedQueueTests {
  private enum Event: CaseIterable, Sendable {
    case closed, crowded

    func happen(to queue: BoundedQueue<Int>) {
      switch self {
      case .closed: queue.close()
      case .crowded: for number in 0..<3 { _ = queue.offer(number, bytes: 1) }
      }
    }
  }

  @Test(
    "Gathering ends early where the line is closed or over half full", arguments: Event.allCases)
  private func endsEarly(_ event: Event) async throws {
    let queue = BoundedQueue<Int>(limits: QueueLimits(count: 4, bytes: 1000))
    let consumer = try WorkerThread { queue.gather(for: .seconds(3600)) }
    event.happen(to: queue)
    await consumer.join()
    #expect(queue.count == (event == .crowded ? 3 : 0))
  }

  @Test(
    "Gathering ends before the producers back off", arguments: [[300], [1, 1]])
  private func endsBeforeCrowd(_ sizes: [Int]) async throws {
    let queue = BoundedQueue<Int>(limits: QueueLimits(count: 4, bytes: 1000))
    let consumer = try WorkerThread { queue.gather(for: .seconds(3600)) }
    for bytes in sizes { #expect(queue.offer(0, bytes: bytes) == .queued) }
    await consumer.join()
    #expect(queue.count == sizes.count && !queue.isCrowded)
  }

  @Test(
    "Nobody has to say when to look at a line that is closed or over half full",
    arguments: Event.allCases)
  private func looksUnasked(_ event: Event) async throws {
    let queue = BoundedQueue<Int>(limits: QueueLimits(count: 4, bytes: 1000))
    queue.awaitsRelease = true
    let taken = Mutex<[Int]>([])
    let consumer = try WorkerThread { taken.withLock { $0 = queue.take(atMost: 1) } }
    event.happen(to: queue)
    await consumer.join()
    #expect(taken.withLock { $0 } == (event == .crowded ? [0] : []))
  }

  @Test("What waits is taken when the producer says so")
  func releases() async throws {
    let queue = BoundedQueue<Int>(limits: QueueLimits(count: 100, bytes: 1000))
    queue.awaitsRelease = true
    let taken = Mutex<[Int]>([])
    let consumer = try WorkerThread {
      while case let elements = queue.take(atMost: 100), !elements.isEmpty {
        taken.withLock { $0 += elements }
      }
    }
    for number in 0..<30 {
      #expect(queue.offer(number, bytes: 1) == .queued)
      guard number % 3 == 2 else { continue }
      queue.release()
      try await eventually { taken.withLock { $0.count } == number + 1 }
    }
    queue.close()
    await consumer.join()
    #expect(taken.withLock { $0 } == Array(0..<30))
  }

  @Test("What comes while elements gather is there afterwards, in order")
  func keepsWhatComes() async throws {
    let queue = BoundedQueue<Int>(limits: QueueLimits(count: 100, bytes: 1000))
    let taken = Mutex<[Int]>([])
    let consumer = try WorkerThread {
      queue.gather(for: .milliseconds(1))
      while true {
        let elements = queue.take(atMost: 7)
        guard !elements.isEmpty else { return }
        taken.withLock { $0 += elements }
      }
    }
    for number in 0..<50 { #expect(queue.offer(number, bytes: 1) == .queued) }
    queue.close()
    await consumer.join()
    #expect(taken.withLock { $0 } == Array(0..<50))
  }
}

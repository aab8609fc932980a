import Glibc
import Testing

@testable import BlockingIO

@Suite("A thread for what blocks", .timeLimit(.minutes(1)))
struct WorkerThreadTests {
  @Test("Whoever gets no thread is told why, and what helps")
  func noThread() {
    let words = "\(ThreadError(code: EAGAIN))"
    #expect(words.contains("Resource temporarily unavailable"), "\(words)")
    #expect(words.contains("receive fewer cameras, or raise the limit of processes"), "\(words)")
  }

  @Test("Work that is stuck is waited for as long as is said, and other work until it ends")
  func limit() async throws {
    let isFree = Monitor(false)
    let stuck = try WorkerThread { _ = isFree.wait { $0 ? () : nil } }
    #expect(await stuck.join(within: .milliseconds(20)) == .released)
    isFree.update { $0 = true }
    let other = try WorkerThread { _ = isFree.wait { $0 ? () : nil } }
    #expect(await other.join(within: .seconds(3600)) == .ended)
  }
}

import RTPWire
import Testing

@testable import Transports

@Suite("How many bytes gather in a connection")
struct GatheringMarkTests {
  static let start = Instant(nanoseconds: 5_000_000_000)

  /// Reads `bytes` every 40 ms from `start` on; the values of the mark that came of it.
  private func values(
    _ mark: inout GatheringMark, bytes: Int, from start: Int64 = 0, forMilliseconds time: Int64
  ) -> [Int] {
    stride(from: start + 40, through: start + time, by: 40).compactMap { milliseconds in
      let now = Self.start.advanced(by: .milliseconds(milliseconds))
      return mark.noteRead(of: bytes, at: now) ? mark.value : nil
    }
  }

  @Test("it is what comes in the wanted time, by the rate of the last second")
  func rate() {
    var mark = GatheringMark(for: .milliseconds(400), at: Self.start)
    #expect(values(&mark, bytes: 10_000, forMilliseconds: 960) == [])
    #expect(mark.value == 1 && mark.deadline == nil)
    #expect(values(&mark, bytes: 10_000, from: 960, forMilliseconds: 4000) == [100_000])
    #expect(values(&mark, bytes: 10_400, from: 4960, forMilliseconds: 4000) == [])
    let next = values(&mark, bytes: 2000, from: 8960, forMilliseconds: 4000)
    #expect(next.last == 20_000)
  }

  @Test("it has a bound")
  func bound() {
    var mark = GatheringMark(for: .milliseconds(400), at: Self.start)
    #expect(
      values(&mark, bytes: 1 << 40, forMilliseconds: 2000) == [GatheringMark.greatest])
  }

  @Test("where less comes, what waits is read after the wanted time and a quarter of it")
  func deadline() throws {
    var mark = GatheringMark(for: .milliseconds(400), at: Self.start)
    _ = values(&mark, bytes: 10_000, forMilliseconds: 1000)
    let deadline = try #require(mark.deadline)
    #expect(deadline == Self.start.advanced(by: .milliseconds(1500)))
    #expect(!mark.timePassed(to: deadline.advanced(byNanoseconds: -1)) && mark.value == 100_000)
    #expect(mark.timePassed(to: deadline) && mark.value == 1)
    #expect(mark.deadline == nil && !mark.timePassed(to: deadline.advanced(by: .seconds(9))))
    // The next second says how much it is now; until then it is what it was.
    let next = values(&mark, bytes: 100, from: 1500, forMilliseconds: 3000)
    #expect(next.first == 100_000 && next.last == 1000, "\(next)")
  }
}

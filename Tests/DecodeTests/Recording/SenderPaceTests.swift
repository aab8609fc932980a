import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

@Suite struct SenderPaceTests {
  /// What is said after so many seconds of pictures, 25 of which are said to be a second.
  private func pace(
    _ seconds: Int, actual rate: Double, delay: (Double) -> Double = { _ in 0 },
    leap: (Double) -> Double = { _ in 0 }
  ) -> SenderPace.Pace? {
    var pace = SenderPace()
    for number in 0..<Int(Double(seconds) * rate) {
      let sent = Double(number) / rate
      let arrival = Instant(nanoseconds: Int64((sent + delay(sent)) * 1e9))
      pace.note(
        AccessUnit(
          codec: .testH264, bytes: ByteBuffer(), units: [],
          time: MediaTime(
            ticks: Int64(number) * 3600 + Int64(leap(sent) * 90_000), timescale: 90_000),
          firstArrival: arrival, lastArrival: arrival))
    }
    return pace.wrong
  }

  @Test(
    "a camera that sends fewer or more pictures than its clock counts",
    arguments: [(21.0, 75_600), (24.5, 88_200), (26.0, 93_600), (30.0, 108_000)]
      as [(Double, Int)])
  func wrong(rate: Double, clockRate: Int) throws {
    var random = SeededGenerator(seed: 1)
    let found = pace(240, actual: rate, delay: { _ in Double(random.integer(below: 80)) / 1000 })
    let pace = try #require(found)
    #expect(abs(Int(pace.clockRate) - clockRate) < 200, "\(pace)")
    #expect(abs(pace.ratio - rate / 25) < 0.003)
    #expect(self.pace(170, actual: rate) == nil, "not before it is certain")
  }

  @Test("a camera whose clock is right, on networks of all kinds")
  func right() {
    #expect(pace(1800, actual: 25) == nil)
    #expect(pace(1800, actual: 25 * 1.000_2) == nil)
    // A buffer that fills for two minutes, and stays full.
    #expect(pace(1800, actual: 25, delay: { min($0, 120) / 30 }) == nil)
    // Delays that grow and fall.
    #expect(pace(1800, actual: 25, delay: { abs($0.remainder(dividingBy: 90)) / 20 }) == nil)
    // A clock that is put forward each minute.
    #expect(pace(1800, actual: 25, leap: { ($0 / 60).rounded(.down) * 2 }) == nil)
    // A server that sends as fast as it can.
    #expect(pace(1800, actual: 100) == nil)
  }
}

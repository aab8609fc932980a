import RTPWire
import Testing

@testable import Transports

struct ReadPacerTests {
  /// Reads `perRead` datagrams every `interval` µs for `duration` ms; the delays that came out.
  private func delays(
    _ pacer: inout ReadPacer, perRead: Int, everyMicroseconds interval: Int64,
    fromMilliseconds start: Int64 = 0, forMilliseconds duration: Int64
  ) -> [Int64?] {
    stride(from: start * 1000, to: (start + duration) * 1000, by: Int(interval)).map {
      pacer.delay(afterReading: perRead, now: Instant(nanoseconds: $0 * 1000))
    }
  }

  @Test(arguments: [100, 1000, 4000, 8000, 11_000])
  func aCamerasRateIsNeverHeldBack(packetsPerSecond: Int64) {
    var pacer = ReadPacer()
    let delays = delays(
      &pacer, perRead: 1, everyMicroseconds: 1_000_000 / packetsPerSecond, forMilliseconds: 2000)
    #expect(delays.allSatisfy { $0 == nil })
  }

  @Test func aKeyFrameOfOneAndAHalfMegabytesIsNotHeldBack() {
    var pacer = ReadPacer()
    for second in 0..<10 as Range<Int64> {
      // 1,050 packets within 28 ms, then 25 packets a frame for the rest of the second.
      let burst = delays(
        &pacer, perRead: 5, everyMicroseconds: 133, fromMilliseconds: second * 1000,
        forMilliseconds: 28)
      let rest = delays(
        &pacer, perRead: 25, everyMicroseconds: 33_333, fromMilliseconds: second * 1000 + 33,
        forMilliseconds: 960)
      #expect((burst + rest).allSatisfy { $0 == nil })
    }
  }

  @Test(arguments: [20_000, 50_000, 100_000])
  func aHighRateIsSpacedAfterOneWindow(packetsPerSecond: Int64) {
    var pacer = ReadPacer()
    let early = delays(
      &pacer, perRead: 1, everyMicroseconds: 1_000_000 / packetsPerSecond, forMilliseconds: 99)
    #expect(early.allSatisfy { $0 == nil })
    _ = delays(
      &pacer, perRead: 1, everyMicroseconds: 1_000_000 / packetsPerSecond, fromMilliseconds: 99,
      forMilliseconds: 2)
    let perRead = Int(packetsPerSecond / 2000)
    let late = delays(
      &pacer, perRead: perRead, everyMicroseconds: 500, fromMilliseconds: 101,
      forMilliseconds: 1000)
    #expect(late.allSatisfy { $0 == ReadPacer.spacing })
  }

  /// A camera of 2 Mbit/s: 7 packets a picture, and 45 for each key picture.
  private func cameraDelays(bufferSize: Int) -> [Int64?] {
    var pacer = ReadPacer()
    func second(_ number: Int64) -> [Int64?] {
      delays(
        &pacer, perRead: 45, everyMicroseconds: 40_000, fromMilliseconds: number * 1000,
        forMilliseconds: 40)
        + delays(
          &pacer, perRead: 7, everyMicroseconds: 40_000, fromMilliseconds: number * 1000 + 40,
          forMilliseconds: 960)
    }
    #expect((second(0) + second(1)).allSatisfy { $0 == nil })
    pacer.gather(for: 200_000_000, bufferSize: bufferSize)
    return second(2) + second(3)
  }

  @Test("a camera's datagrams gather in a large buffer")
  func gathering() {
    #expect(cameraDelays(bufferSize: 4 << 20).allSatisfy { $0 == 200_000_000 })
  }

  @Test("a burst leaves less room, for a minute or two")
  func gatheringAfterABurst() {
    var pacer = ReadPacer()
    func second(_ number: Int64) -> [Int64?] {
      delays(
        &pacer, perRead: 8, everyMicroseconds: 40_000, fromMilliseconds: number * 1000,
        forMilliseconds: 1000)
    }
    _ = second(0)
    // Half of the buffer holds 512 datagrams; the burst takes 450 of them.
    pacer.gather(for: 200_000_000, bufferSize: 2 << 20)
    #expect(second(1).suffix(5).allSatisfy { $0 == 200_000_000 })
    _ = pacer.delay(afterReading: 450, now: Instant(nanoseconds: 2_000_000_000))
    for number in 3...10 as ClosedRange<Int64> {
      #expect(second(number).suffix(5).allSatisfy { ($0 ?? 0) < 200_000_000 })
    }
    for number in 11...124 as ClosedRange<Int64> { _ = second(number) }
    #expect(second(125).allSatisfy { $0 == 200_000_000 })
  }

  @Test("datagrams gather only as long as bursts leave half of the buffer free")
  func gatheringInASmallBuffer() {
    #expect(cameraDelays(bufferSize: 212_992).allSatisfy { $0 == nil })
    let some = cameraDelays(bufferSize: 2 * 212_992)
    #expect(some.allSatisfy { ($0 ?? 0) < 100_000_000 && ($0 ?? 0) >= 60_000_000 || $0 == nil })
  }

  @Test func spacingAddsAtMostHalfAMillisecond() {
    #expect(ReadPacer.spacing <= 500_000)
  }

  /// A read of a fast stream that nobody waits for brings an eighth of what the kernel holds.
  @Test(arguments: [(20_000, 12_800), (50_000, 5_120), (100_000, 2_560)])
  func aFastStreamGathersUpToAnEighthOfTheBuffer(rate: Int, microseconds: Int64) {
    var pacer = ReadPacer()
    pacer.gather(for: 900_000_000, bufferSize: 4 << 20)
    let delays = delays(
      &pacer, perRead: rate / 1000, everyMicroseconds: 1000, forMilliseconds: 300)
    #expect(delays.suffix(100).allSatisfy { abs(($0 ?? 0) - microseconds * 1000) < 200_000 })
  }

  @Test func aFastStreamInASmallBufferIsReadAsOften() {
    var pacer = ReadPacer()
    pacer.gather(for: 900_000_000, bufferSize: 64 << 10)
    let delays = delays(
      &pacer, perRead: 20, everyMicroseconds: 1000, forMilliseconds: 300)
    #expect(delays.suffix(100).allSatisfy { $0 == ReadPacer.spacing })
  }

  @Test func aPauseEndsTheSpacingAtOnce() {
    var pacer = ReadPacer()
    _ = delays(&pacer, perRead: 10, everyMicroseconds: 500, forMilliseconds: 200)
    #expect(pacer.delay(afterReading: 10, now: Instant(nanoseconds: 200_500_000)) != nil)
    #expect(pacer.delay(afterReading: 0, now: Instant(nanoseconds: 201_000_000)) == nil)
  }

  @Test func spacingEndsWhenTheRateFalls() {
    var pacer = ReadPacer()
    _ = delays(&pacer, perRead: 10, everyMicroseconds: 500, forMilliseconds: 200)
    // 10,000 a second keeps it on, 4,000 does not.
    let high = delays(
      &pacer, perRead: 10, everyMicroseconds: 1000, fromMilliseconds: 200, forMilliseconds: 300)
    #expect(high.allSatisfy { $0 != nil })
    let low = delays(
      &pacer, perRead: 4, everyMicroseconds: 1000, fromMilliseconds: 500, forMilliseconds: 400)
    #expect(low.suffix(100).allSatisfy { $0 == nil })
  }

  /// What cannot be measured is not held back.
  @Test func aClockThatJumpsHoldsNothingBack() {
    var pacer = ReadPacer()
    for nanoseconds in [0, 0, Int64.max, Int64.min, 0, 1, Int64.max] {
      #expect(pacer.delay(afterReading: 64, now: Instant(nanoseconds: nanoseconds)) == nil)
    }
  }

  @Test func aClockThatStandsStillChangesNothing() {
    let instant = Instant(nanoseconds: 200_000_000)
    var slow = ReadPacer()
    var fast = ReadPacer()
    _ = delays(&fast, perRead: 10, everyMicroseconds: 500, forMilliseconds: 200)
    for _ in 0..<1000 {
      #expect(slow.delay(afterReading: 64, now: instant) == nil)
      #expect(fast.delay(afterReading: 64, now: instant) == ReadPacer.spacing)
    }
    // An hour in which nothing came is a low rate.
    let later = instant.advanced(by: .seconds(3600))
    #expect(fast.delay(afterReading: 64, now: later) == nil)
  }
}

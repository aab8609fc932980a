import Bitstream
import Outputs
import RTPWire
import Testing

/// Media time that runs with a clock.
struct TimebaseTests {
  private static func instant(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(seconds * 1e9))
  }

  @Test("at each rate, both directions agree", arguments: [(1, 1), (2, 1), (1, 3), (30_000, 1001)])
  func rates(numerator: UInt32, denominator: UInt32) throws {
    let rate = try #require(Rational(numerator, denominator))
    let base = Timebase(at: 5_000_000_000, at: Self.instant(100), rate: rate)
    let media = base.media(at: Self.instant(103))
    #expect(media == 5_000_000_000 + 3_000_000_000 * Int64(numerator) / Int64(denominator))
    let back = try #require(base.instant(of: media))
    #expect(abs(back.nanoseconds(to: Self.instant(103))) <= 1)
  }

  @Test("a pause stops the media, and it runs on from there")
  func pause() {
    var base = Timebase(at: 0, at: Self.instant(0), rate: Rational(2, 1))
    base.pause(at: Self.instant(1))
    #expect(base.media(at: Self.instant(50)) == 2_000_000_000)
    #expect(base.instant(of: 0) == nil)
    base.resume(at: Self.instant(50))
    #expect(base.rate == Rational(2, 1))
    #expect(base.media(at: Self.instant(51)) == 4_000_000_000)
  }

  @Test("a change of rate is no leap, and a leap is one")
  func changes() {
    var base = Timebase(at: 0, at: Self.instant(0))
    base.run(at: Rational(1, 2), from: Self.instant(4))
    #expect(base.media(at: Self.instant(4)) == 4_000_000_000)
    #expect(base.media(at: Self.instant(6)) == 5_000_000_000)
    base.set(-1_000_000_000, at: Self.instant(6))
    #expect(base.media(at: Self.instant(8)) == 0)
  }

  @Test("no time traps", arguments: [Int64.min, -1, 0, 1, .max])
  func extremes(value: Int64) {
    for rate in [Rational(1, 1), Rational(.max, 1), Rational(1, .max)] {
      let base = Timebase(at: value, at: Instant(nanoseconds: value), rate: rate)
      for other in [Int64.min, 0, .max] {
        _ = base.media(at: Instant(nanoseconds: other))
        _ = base.instant(of: other)
      }
    }
  }
}

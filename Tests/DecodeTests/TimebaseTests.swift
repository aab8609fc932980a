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

  @Test("what is beyond 64 bits is the last that fits", arguments: [Int64.min, -1, 0, 1, .max])
  func extremes(value: Int64) {
    for (times, by) in [(1, 1), (.max, 1), (1, .max)] as [(UInt32, UInt32)] {
      let base = Timebase(at: value, at: Instant(nanoseconds: value), rate: Rational(times, by))
      for other in [Int64.min, 0, .max] {
        // Twice as wide as all that is calculated with.
        let distance = Int128(other.subtractingSaturating(value))
        let ahead = Int64(clamping: distance * Int128(times) / Int128(by))
        #expect(base.media(at: Instant(nanoseconds: other)) == value.addingSaturating(ahead))
        let later = Int64(clamping: distance * Int128(by) / Int128(times))
        #expect(base.instant(of: other)?.nanoseconds == value.addingSaturating(later))
      }
    }
  }
}

import Bitstream
import Defragment
import NIOCore
import RTPWire
import Testing

@testable import Outputs

/// How much silence stands where sound is missing.
struct SoundTimelineTests {
  private static let format = SoundFormat(
    codec: SoundCodec(name: "pcmu", decoderName: "pcm_mulaw"), sampleRate: 16_000, channels: 1)

  /// 20 ms of sound at `ticks` of a clock of 8 kHz, arriving `late` after its time.
  private static func unit(
    _ ticks: Int64, lost: Int = 0, isNew: Bool = false, late: Duration = .zero
  ) -> SoundUnit {
    let arrival = Instant(nanoseconds: ticks * 125_000).advanced(by: late)
    return SoundUnit(
      format: format, bytes: ByteBuffer(), time: MediaTime(ticks: ticks, timescale: 8000),
      sampleCount: 320, firstArrival: arrival, lastArrival: arrival, lostBefore: lost,
      isDiscontinuity: isNew)
  }

  /// Units, and the silence before each.
  private static let tables: [(name: String, units: [SoundUnit], silence: [Int])] = [
    ("that follow each other", [unit(0), unit(160), unit(320)], [0, 0, 0]),
    ("after a lost packet", [unit(0), unit(320, lost: 1), unit(480)], [0, 320, 0]),
    ("after a pause of the sender", [unit(0), unit(8160), unit(8320)], [0, 16_000, 0]),
    ("with rounded times", [unit(0), unit(165), unit(318), unit(482)], [0, 0, 0, 0]),
    (
      "whose clock is slower than their samples",
      (0..<500).map { unit($0 * 159) }, Array(repeating: 0, count: 500)
    ),
    ("with a forged leap", [unit(0), unit(160), unit(800_000, late: .seconds(-99))], [0, 0, 0]),
    ("after an outage", [unit(0), unit(80_160, isNew: true), unit(80_320)], [0, 160_000, 0]),
    (
      "after a minute and a half", [unit(0), unit(720_160, isNew: true), unit(720_320)], [0, 0, 0]
    ),
    ("whose numbering goes back", [unit(8000), unit(0, isNew: true), unit(160)], [0, 0, 0]),
  ]

  @Test("units", arguments: tables.indices)
  func silence(row: Int) {
    let (name, units, expected) = Self.tables[row]
    var timeline = SoundTimeline()
    #expect(units.map { timeline.silence(before: $0) } == expected, "\(name)")
  }

  @Test("times that are late again and again cost one silence")
  func unsteadyTimes() {
    var timeline = SoundTimeline()
    let silence = (0..<500 as Range<Int64>).map { number in
      timeline.silence(before: Self.unit(number * 160 + (number % 50 == 40 ? 480 : 0)))
    }
    #expect(silence.reduce(0, +) == 960)
  }

  @Test("samples of another rate are counted anew")
  func otherRate() {
    var timeline = SoundTimeline()
    let units = (0..<100).map { number in
      let format = SoundFormat(
        codec: Self.format.codec, sampleRate: number < 50 ? 24_000 : 48_000, channels: 1)
      let arrival = Instant(nanoseconds: Int64(number) * 20_000_000)
      return SoundUnit(
        format: format, bytes: ByteBuffer(),
        time: MediaTime(ticks: Int64(number) * 960, timescale: 48_000),
        sampleCount: format.sampleRate / 50, firstArrival: arrival, lastArrival: arrival)
    }
    #expect(units.allSatisfy { timeline.silence(before: $0) == 0 })
  }

  @Test("a clock that is faster than its samples is followed in small steps")
  func fastClock() {
    var timeline = SoundTimeline()
    let silence = (0..<5000).map { timeline.silence(before: Self.unit($0 * 161)) }
    let total = silence.reduce(0, +)
    // 5,000 times one tick, less than the tolerance behind.
    #expect((5000 * 2 - 640...5000 * 2).contains(total), "\(total)")
    #expect(silence.allSatisfy { $0 <= 642 })
  }

  @Test("forged leaps do not add up to more silence than time has passed")
  func manyForgedLeaps() {
    var timeline = SoundTimeline()
    var total = 0
    for number in 0..<1000 {
      // 20 ms of sound every 20 ms, each four seconds later than it should be.
      let ticks = Int64(number) * (4 * 8000 + 160)
      let late = Duration.microseconds(Int64(number) * 20_000 - ticks * 125)
      total += timeline.silence(before: Self.unit(ticks, late: late))
    }
    // 20 s have passed, and 20 s of sound came.
    #expect(total < 16_000 * 110, "\(total / 16_000) s")
  }

  @Test("a sender that is faster than time, such as a file's, may pause")
  func pausesOfAFile() {
    var timeline = SoundTimeline()
    var silence: [Int] = []
    for number in 0..<500 {
      // 20 ms of sound, and then a pause of 80 ms.
      let ticks = Int64(number) * 800
      silence.append(timeline.silence(before: Self.unit(ticks, late: .microseconds(-ticks * 125))))
    }
    #expect(silence == [0] + Array(repeating: 1280, count: 499))
  }

  @Test("silence at the highest rate, with the most channels, needs little memory")
  func hugeSilence() {
    let format = SoundFormat(
      codec: SoundCodec(name: "l16", decoderName: "pcm_s16be"), sampleRate: 384_000, channels: 8)
    var timeline = SoundTimeline()
    let silence = [0, 50].map { seconds in
      timeline.silence(
        before: SoundUnit(
          format: format, bytes: ByteBuffer(),
          time: MediaTime(ticks: seconds * 384_000, timescale: 384_000), sampleCount: 384,
          firstArrival: Instant(nanoseconds: seconds * 1_000_000_000),
          lastArrival: Instant(nanoseconds: seconds * 1_000_000_000)))
    }
    #expect(silence.allSatisfy { $0 * 8 <= 24_000_000 }, "\(silence)")
  }
}

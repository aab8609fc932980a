import Bitstream
import Defragment
import NIOCore
import RTPWire
import Testing

@testable import Outputs

@Suite struct InterleaverTests {
  private static func picture(_ milliseconds: Int64, size: Int = 0) -> AccessUnit {
    let arrival = Instant(nanoseconds: milliseconds * 1_000_000)
    return AccessUnit(
      codec: .testH264, bytes: ByteBuffer(repeating: 0, count: size), units: [],
      time: MediaTime(ticks: milliseconds * 90, timescale: 90_000), firstArrival: arrival,
      lastArrival: arrival)
  }

  private static func sound(_ milliseconds: Int64, lateBy delay: Int64 = 0) -> SoundTrack.Sample {
    let format = SoundFormat(
      codec: SoundCodec(name: "pcmu", decoderName: "pcm_mulaw"), sampleRate: 8000, channels: 1)
    return SoundTrack.Sample(
      sound: SoundDescription(format: format), bytes: ByteBuffer(),
      start: milliseconds * 1_000_000, count: 0, items: 1,
      arrival: Instant(nanoseconds: (milliseconds + delay) * 1_000_000))
  }

  /// What comes out: pictures as `P`, sound as `S`, with their milliseconds.
  private static func released(from interleaver: inout Interleaver) -> [String] {
    var names: [String] = []
    while let element = interleaver.next() {
      switch element {
      case .picture(let unit): names.append("P\(unit.time.ticks / 90)")
      case .sound(let sample): names.append("S\(sample.start / 1_000_000)")
      }
    }
    return names
  }

  @Test func picturesAloneWaitForNothing() {
    var interleaver = Interleaver()
    interleaver.append(Self.picture(0))
    #expect(Self.released(from: &interleaver) == ["P0"])
  }

  @Test func theEarlierGoesFirst() {
    var interleaver = Interleaver()
    for time: Int64 in [0, 20, 40] { interleaver.append(Self.sound(time)) }
    #expect(Self.released(from: &interleaver) == [])
    for time: Int64 in [0, 80, 40] { interleaver.append(Self.picture(time)) }
    // The picture of 80 ms waits for sound, and the one that is decoded after it for that.
    #expect(Self.released(from: &interleaver) == ["P0", "S0", "S20", "S40"])
    interleaver.append(Self.sound(100))
    #expect(Self.released(from: &interleaver) == ["P80", "P40"])
    interleaver.end()
    #expect(Self.released(from: &interleaver) == ["S100"])
  }

  @Test func soundThatStopsIsNotWaitedForLongerThanASecond() {
    var interleaver = Interleaver()
    interleaver.append(Self.picture(0))
    interleaver.append(Self.sound(0))
    _ = Self.released(from: &interleaver)
    for time in stride(from: Int64(40), through: 960, by: 40) {
      interleaver.append(Self.picture(time))
      #expect(Self.released(from: &interleaver) == [])
    }
    interleaver.append(Self.picture(1000))
    #expect(Self.released(from: &interleaver).count == 25)
    interleaver.append(Self.picture(1040))
    #expect(Self.released(from: &interleaver) == ["P1040"])
  }

  @Test("What comes late is waited for while it comes, for five seconds", arguments: [2000, 5000])
  func lateSound(by delay: Int64) throws {
    var interleaver = Interleaver()
    var released: [String] = []
    for time in stride(from: Int64(0), through: 9000, by: 500) {
      interleaver.append(Self.picture(time))
      if time >= delay { interleaver.append(Self.sound(time - delay, lateBy: delay)) }
      // The sound before the first picture.
      if time == 0 { interleaver.append(Self.sound(-500, lateBy: 500)) }
      released += Self.released(from: &interleaver)
    }
    let sound = try #require(released.firstIndex(of: "S3500"))
    let picture = try #require(released.firstIndex(of: "P4000"))
    #expect((sound < picture) == (delay < 5000), "\(released)")
  }

  @Test func soundAheadIsHeldUntilItsPicturesCome() throws {
    var interleaver = Interleaver()
    var released: [String] = []
    interleaver.append(Self.picture(0))
    for time in stride(from: Int64(0), through: 6000, by: 500) {
      interleaver.append(Self.sound(time + 2000, lateBy: -2000))
      interleaver.append(Self.picture(time))
      released += Self.released(from: &interleaver)
    }
    let places = try ["P3500", "S3500", "P4000"].map { try #require(released.firstIndex(of: $0)) }
    #expect(places == places.sorted(), "\(released)")
  }

  @Test func aClockThatLeapsBackHoldsNothing() {
    var interleaver = Interleaver()
    for time: Int64 in [90_000, 90_040, 0, 40] { interleaver.append(Self.picture(time)) }
    #expect(Self.released(from: &interleaver) == ["P90000", "P90040", "P0", "P40"])
  }

  @Test func soundWithATimeThatWasWrongOnceIsWaitedForAgain() {
    var interleaver = Interleaver()
    interleaver.append(Self.picture(0))
    interleaver.append(Self.sound(100_000))
    for time: Int64 in [0, 20] { interleaver.append(Self.sound(time)) }
    #expect(Self.released(from: &interleaver) == ["S100000", "P0", "S0"])
    for time: Int64 in [40, 80] { interleaver.append(Self.picture(time)) }
    #expect(Self.released(from: &interleaver) == ["S20"])
    interleaver.append(Self.sound(60))
    #expect(Self.released(from: &interleaver) == ["P40", "S60"])
  }

  @Test func aClockThatLeapsBackWithItsSoundHoldsNothing() {
    var interleaver = Interleaver()
    interleaver.append(Self.picture(90_000))
    interleaver.append(Self.sound(90_000))
    interleaver.append(Self.picture(90_040))
    for time: Int64 in [0, 20] { interleaver.append(Self.sound(time)) }
    for time: Int64 in [0, 40] { interleaver.append(Self.picture(time)) }
    #expect(
      Self.released(from: &interleaver) == ["P90000", "P90040", "S90000", "P0", "S0", "S20", "P40"])
  }

  @Test func whatWaitsIsBounded() {
    var interleaver = Interleaver()
    interleaver.append(Self.picture(0))
    interleaver.append(Self.sound(0))
    for _ in 0..<2000 { interleaver.append(Self.picture(1)) }
    #expect(Self.released(from: &interleaver).count > 1400)
    for _ in 0..<20 { interleaver.append(Self.picture(1, size: 1 << 20)) }
    #expect(Self.released(from: &interleaver).count > 500)
  }
}

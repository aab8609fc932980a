import Bitstream
import Defragment
import NIOCore
import Outputs
import RTPSend
import RTPWire
import Testing

@testable import Decode
@testable import Receiver

/// Exactly one frame for each interval of the media.
struct ConstantRateTests {
  @Test(
    "every interval has one frame",
    arguments: [
      // Nothing missing; some lost; times that are not exact; two in one interval.
      [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 4, 5, 8, 9, 10], [0, 1.3, 1.8, 3.2, 3.7, 5.1, 6, 7],
      [0, 1, 2, 2.05, 2.1, 3, 4, 5, 6, 7],
      // The times of other pictures, with one missing.
      [0, 3, 2, 4, 1, 7, 6, 8, 5, 11, 12, 9, 13, 14],
    ])
  func oneFrameEach(positions: [Double]) async throws {
    let frames = try await frames(at: positions)
    var rate = ConstantRate()
    var shown: [Int64] = []
    for placement in frames.flatMap({ rate.place($0) }) + rate.finish() {
      shown += placement.times.map(\.ticks)
      if let frame = placement.frame { shown.append(frame.time.ticks) }
    }
    let last = try #require(positions.last)
    #expect(shown.count == Int(last) + 1)
    guard positions == positions.sorted() else { return }
    for (number, ticks) in shown.enumerated() {
      #expect(abs(ticks - Int64(number) * 3000) < 3000, "frame \(number) at \(ticks)")
    }
  }

  @Test("a pause of ten seconds is filled, and a jump of hours is not")
  func pauses() async throws {
    let frames = try await frames(at: [0, 1, 2, 3, 4, 304, 305, 1_000_000])
    var rate = ConstantRate()
    let placements = frames.flatMap { rate.place($0) } + rate.finish()
    let repeats = placements.map(\.times.count)
    #expect(repeats == [0, 0, 0, 0, 0, 299, 0, 0])
    #expect(placements.allSatisfy { $0.frame != nil })
  }

  /// One timestamp half an hour ahead, or behind, while the packets come as ever.
  @Test(arguments: [54_000.0, -54_000])
  func aForgedTimestampFillsNothing(forged: Double) async throws {
    let frames = try await frames(
      at: [0, 1, 2, 3, 4, forged, 5, 6, 7], arriving: (0..<9).map(Double.init))
    var rate = ConstantRate()
    let placements = frames.flatMap { rate.place($0) } + rate.finish()
    #expect(placements.allSatisfy { $0.times.isEmpty && $0.frame != nil })
    #expect(placements.count == 9)
  }

  /// A connection that stalls brings what it held all at once, with a gap in it.
  @Test func aGapBehindAStallIsFilled() async throws {
    let frames = try await frames(
      at: [0, 1, 2, 3, 4, 5, 96, 97], arriving: [0, 1, 2, 3, 4, 95, 96, 96])
    var rate = ConstantRate()
    let placements = frames.flatMap { rate.place($0) } + rate.finish()
    #expect(placements.map(\.times.count) == [0, 0, 0, 0, 0, 0, 90, 0])
  }

  /// Pictures of a few bytes, 10 ms apart, each 4.9 s later than the one before by its time.
  @Test func timesThatLeapWithEveryFrameFillLittle() async throws {
    let frames = try await frames(
      at: positions(60, every: 147, after: 5), arriving: (0..<60).map { 0.3 * Double($0) })
    var rate = ConstantRate()
    let placements = frames.flatMap { rate.place($0) } + rate.finish()
    #expect(placements.count == 60 && placements.allSatisfy { $0.frame != nil })
    // Five seconds, more than half a second that went by, and four for each frame.
    let repeats = placements.reduce(0) { $0 + $1.times.count }
    #expect((1...150 + 20 + 240).contains(repeats), "\(repeats)")
  }

  /// From some frame on one a second comes, and once a minute the network holds them back for up to
  /// ten seconds.
  @Test func aSlowCameraIsFilledForEver() async throws {
    let positions = self.positions(305, every: 30, after: 4)
    let arrivals = positions.map { position in
      let phase = position.truncatingRemainder(dividingBy: 1800)
      return phase < 1500 ? position : position - phase + 1800
    }
    let frames = try await frames(at: positions, arriving: arrivals)
    var rate = ConstantRate()
    let placements = frames.flatMap { rate.place($0) } + rate.finish()
    #expect(placements.count == 305)
    #expect(placements.dropFirst(5).allSatisfy { $0.times.count == 29 })
  }

  /// A file of six pictures a second, or a recording without times.
  @Test func whatComesAtOnceIsFilledForEver() async throws {
    let frames = try await frames(
      at: positions(305, every: 5, after: 4), arriving: Array(repeating: 0, count: 305))
    var rate = ConstantRate()
    let placements = frames.flatMap { rate.place($0) } + rate.finish()
    #expect(placements.count == 305)
    #expect(placements.dropFirst(5).allSatisfy { $0.times.count == 4 })
  }

  /// The first `last` positions in a row, and then one in `step`; `count` in all.
  private func positions(_ count: Int, every step: Int, after last: Int) -> [Double] {
    (0..<count).map { Double(min($0, last) + step * max($0 - last, 0)) }
  }

  /// Frames of the pattern without a frame rate, at these thirtieths of a second.
  private func frames(
    at positions: [Double], arriving arrivals: [Double]? = nil
  ) async throws -> [RawFrame] {
    let sent = try PatternStream(
      .h264, frames: 1,
      as: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    let unit = try #require(try Playback(sent.datagrams, media: sent.media).accessUnits.first)
    let first = try #require(try await Playback.frames(of: [unit]).first)
    return try zip(positions, arrivals ?? positions).map { position, arrival in
      var unit = first.record
      unit.time = MediaTime(ticks: Int64((position * 3000).rounded()), timescale: 90_000)
      unit.lastArrival = Instant(nanoseconds: Int64((arrival * 1e9 / 30).rounded()))
      return try #require(RawFrame(repeating: first, for: unit))
    }
  }
}

struct FreezeMeterTests {
  /// Notes frames at these milliseconds.
  private func freezes(at times: [Int64], repeating: Set<Int64> = []) -> FreezeStatistics {
    var meter = FreezeMeter()
    for time in times {
      meter.note(MediaTime(ticks: time, timescale: 1000), isNew: !repeating.contains(time))
    }
    return meter.statistics
  }

  /// As with `--on-loss freeze`: one frame of each second, and then no more.
  @Test("repeated frames are a freeze, also at the beginning and during one")
  func repeatedFrames() {
    let times = Array(stride(from: Int64(0), through: 4000, by: 40))
    let frozen = freezes(at: times, repeating: Set(times.filter { $0 % 1000 != 0 || $0 > 2000 }))
    #expect(frozen.count == 3)
    #expect(abs(frozen.seconds - 4) < 0.001)
    #expect(abs(frozen.longest - 2) < 0.001)
  }

  @Test("frames that are left out are a freeze, except the first, which shows how long one lasts")
  func missingFrames() {
    let frozen = freezes(at: [0, 1000, 1040, 1080, 2080, 2120])
    #expect(frozen.count == 1)
    #expect(abs(frozen.seconds - 1) < 0.001)
  }

  @Test("a frame shown three times as long as others is a freeze")
  func freeze() {
    let regular = Array(stride(from: Int64(0), through: 1000, by: 40))
    #expect(freezes(at: regular).count == 0)
    // 150 ms more than usual is the least, however fast the frames come.
    #expect(freezes(at: regular + [1180]).count == 0)
    let frozen = freezes(at: regular + [1200, 1240, 1280, 2280])
    #expect(frozen.count == 2)
    #expect(abs(frozen.seconds - 1.2) < 0.001)
    #expect(abs(frozen.longest - 1.0) < 0.001)
  }

  /// Timestamps that jump by four months, as those of a sender that restarts.
  @Test func nothingStandsLongerThanTimeGoesBy() {
    var meter = FreezeMeter()
    for number in 0..<100 {
      let leap: Int64 = number < 50 ? 0 : 9_307_494_000
      meter.note(
        MediaTime(ticks: Int64(number) * 40 + leap, timescale: 1000), isNew: true,
        arrival: Instant(nanoseconds: Int64(number) * 40_000_000))
    }
    #expect(meter.statistics.seconds < 4)
    #expect(meter.statistics.longest < 4)
  }
}

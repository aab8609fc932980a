import Defragment
import RTPWire
import TestSupport
import Testing

@testable import Outputs

/// Intelbras recorders stamp a picture every few seconds with a time hours away.
@Suite struct StrayTimesTests {
  private static let clips = [0, 2].map { depth in
    Clip(
      name: "\(depth) B pictures in a row", frames: 90,
      encoder: ["-bf", "\(depth)", "-g", "30", "-sc_threshold", "0"])
  }

  @Test(
    "a picture whose time is wrong leaves no hole and ends no file",
    arguments: [
      (clips[0], [7]), (clips[0], [30]), (clips[0], [31]), (clips[0], [7, 30, 33, 61]),
      (clips[1], [7]), (clips[1], [30]), (clips[1], [31]),
    ])
  func strays(_ clip: Clip, places: [Int]) throws {
    for seconds in [-9800, 9800] { try expectNoHole(in: clip, with: places, by: seconds) }
  }

  private func expectNoHole(in clip: Clip, with places: [Int], by seconds: Int) throws {
    let units = try clip.timedUnits(of: clip.encoded())
    let wrong = units.enumerated().map { number, unit in
      places.contains(number) ? unit.moved(by: .seconds(seconds), arriving: .zero) : unit
    }
    let disk = try VirtualDisk.record(wrong, as: .mp4)
    #expect(disk.skipped == 0)
    let endings = disk.files.map(\.ending)
    #expect(endings.map(\.?.frames) == [90])
    #expect(endings.map(\.?.reason) == [.end])
    let duration = try #require(endings.first??.duration)
    #expect(abs(duration - 3) < 0.05, "\(duration)")
    var recordable = RecordableUnits(inFiles: true)
    #expect(wrong.count { recordable.takes($0) } == wrong.count)
  }

  @Test(
    "two of them in a row, or the first of all, are a leap, without a hole",
    arguments: [-9800, 9800], [[7, 8], [0], [0, 7, 12]])
  func leaps(seconds: Int, places: [Int]) throws {
    let clip = Self.clips[0]
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map {
      places.contains($0) ? $1.moved(by: .seconds(seconds), arriving: .zero) : $1
    }
    let disk = try VirtualDisk.record(units, as: .mp4)
    #expect(disk.skipped == 0)
    #expect(disk.files.map(\.ending?.frames) == [30, 60])
    #expect(disk.files.map(\.ending?.reason) == [.clock, .end])
    for (file, length) in zip(disk.files, [1.0, 2]) {
      let duration = try #require(file.ending?.duration)
      #expect(abs(duration - length) < 0.2, "\(duration)")
    }
  }

  @Test(
    "a leap as long as the limit is one however the pictures arrive",
    arguments: [10_000, 10_020, -10_020, -10_050], [(0, 0), (-5, 5), (5, -5), (-5, 100)])
  func leapOfTheLimit(milliseconds: Int, delays: (Int, Int)) throws {
    let clip = Self.clips[0]
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map { number, unit in
      guard number >= 30 else { return unit }
      let delay = number == 30 ? delays.0 : number == 31 ? delays.1 : 0
      return unit.moved(by: .milliseconds(milliseconds), arriving: .milliseconds(delay))
    }
    let disk = try VirtualDisk.record(units, as: .mp4)
    #expect(disk.skipped == 0)
    #expect(disk.files.map(\.ending?.frames) == [30, 60])
    #expect(disk.files.map(\.ending?.reason) == [.clock, .end])
  }

  @Test("the last picture of a stream waits for no other")
  func last() throws {
    let clip = Self.clips[1]
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map {
      $0 == 89 ? $1.moved(by: .seconds(9800), arriving: .zero) : $1
    }
    let disk = try VirtualDisk.record(units, as: .mp4)
    #expect(disk.skipped == 0)
    #expect(disk.files.reduce(0) { $0 + ($1.ending?.frames ?? 0) } == 90)
  }

  @Test(
    "pictures that are far apart, B pictures among them, keep their times",
    arguments: [3000, 90_000, 720_000] as [Int64])
  func fewPictures(interval: Int64) throws {
    let clip = Self.clips[1]
    let units = try clip.timedUnits(of: clip.encoded(), interval: interval)
    for isBurst in [false, true] {
      var strays = StrayTimes()
      let taken = units.flatMap {
        strays.take(
          isBurst
            ? $0.moved(by: .zero, arriving: .nanoseconds(-$0.firstArrival.nanoseconds)) : $0)
      }
      #expect(taken.map(\.time) == units.map(\.time))
      #expect(strays.finish() == nil)
    }
  }
}

import Defragment
import Foundation
import RTPWire
import Reception
import TestSupport
import Testing

@testable import Outputs

/// From arrivals to a file: what the session says of the times, and what the recorder makes of it.
@Suite struct StepOfRecordingTests {
  private static let minutes = 10

  /// The sound of a sender whose two clocks differ by 200 ppm, with 100 ms of jitter.
  @Test("after ten minutes the clicks are still beside their pictures")
  func tenMinutes() throws {
    let clip = Clip(
      name: "long", width: 64, height: 64, frames: Self.minutes * 60 * 30,
      encoder: ["-preset", "ultrafast", "-g", "30", "-crf", "51"])
    let pictures = try clip.timedUnits(of: clip.encoded())
    let sound = RecordedSoundTests.clicks(
      seconds: Self.minutes * 60, drift: 0.0002, jitter: .milliseconds(100))
    var alignment = SoundAlignment()
    let items = RecordedSoundTests.merged(pictures, sound).compactMap { item -> OutputItem? in
      switch item {
      case .unit(let unit):
        alignment.notePicture(unit.time, arrival: unit.firstArrival)
        return item
      case .sound(var unit):
        alignment.noteSound(unit.time, arrival: unit.firstArrival)
        unit.alignedTime = alignment.align(unit.time)
        return unit.alignedTime == nil ? nil : .sound(unit)
      default: return item
      }
    }
    let disk = try VirtualDisk.record(items: items, as: .mp4)
    let folder = try TemporaryFolder()
    let file = try #require(disk.files.first)
    #expect(disk.files.count == 1 && file.ending?.frames == pictures.count)
    let path = try RecordedSoundTests.write(file, to: folder, as: "long.mp4")
    let times = try RecordedSoundTests.clickTimes(path)
    #expect((1198...1200).contains(times.count), "\(times.count)")
    let late = times.map { time in
      // The click that was meant is the nearest one.
      let number = ((time / 1.0002 - 0.25) * 2).rounded()
      return time - (0.25 + number / 2) * 1.0002
    }
    #expect(late.dropFirst(10).allSatisfy { abs($0) < 0.02 }, "\(late.map(abs).max() ?? 0)")
  }
}

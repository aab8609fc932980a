import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport

/// A frame of the clip as it came out at the client.
struct Frame: Sendable, Hashable {
  /// Its place in the clip.
  var index: Int
  /// Whether it has all of its NAL units and nothing else.
  var isWhole: Bool
  /// Whether it is said to be whole and is not.
  var isPassedOffAsWhole: Bool

  /// Which frame of the clip `unit` is, by its time, and how much of it there is.
  init(_ unit: AccessUnit, of clip: ClipPackets) {
    let timestamp = UInt32(truncatingIfNeeded: unit.time.ticks)
    let ticks = Int(timestamp &- ClipPackets.initialTimestamp)
    index = ticks / ClipPackets.ticksPerFrame
    let isInPlace =
      ticks.isMultiple(of: ClipPackets.ticksPerFrame) && clip.frames.indices.contains(index)
    isWhole = isInPlace && unit.units.map { unit.bytes(of: $0) } == clip.frames[index]
    // Parameter sets at the end, whose picture never came, do no harm.
    let hasPicture = unit.units.contains { [1, 5].contains($0.type) }
    let isSaidToBe = unit.integrity == .whole && unit.units.allSatisfy(\.isWhole)
    isPassedOffAsWhole = !isWhole && hasPicture && isSaidToBe
  }

  /// Which frames those are, as a script says it: runs, and an exclamation mark for a damaged one.
  static func description(of frames: [Frame]) -> String {
    var runs: [(first: Int, last: Int, isWhole: Bool)] = []
    for frame in frames {
      if let run = runs.last, run.isWhole, frame.isWhole, frame.index == run.last + 1 {
        runs[runs.count - 1].last = frame.index
      } else {
        runs.append((frame.index, frame.index, frame.isWhole))
      }
    }
    let texts = runs.map { run in
      (run.first == run.last ? "\(run.first)" : "\(run.first)-\(run.last)")
        + (run.isWhole ? "" : "!")
    }
    return texts.isEmpty ? "none" : texts.joined(separator: ",")
  }
}

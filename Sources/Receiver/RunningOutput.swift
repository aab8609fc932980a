import Decode
import Defragment
import Outputs

/// An output during the run.
struct RunningOutput: Sendable {
  let name: String
  let format: OutputFormat
  /// Whether the far end is held while it has more waiting than it should.
  let holdsFarEnd: Bool
  let lane: OutputLane

  /// Whether it gets pictures or what became of them, and not what has come.
  var needsDecoding: Bool { format.inputs.needDecoding }
}

/// The outputs of a run; a lane that drops counts its drops, and receiving waits for none of them.
extension [RunningOutput] {
  func write(_ unit: AccessUnit) {
    for output in self { output.lane.write(unit) }
  }

  func write(_ unit: SoundUnit, at ticket: PlayoutClock.Ticket?) {
    for output in self { output.lane.write(unit, at: ticket) }
  }

  func write(_ frame: RawFrame, at ticket: PlayoutClock.Ticket?) {
    for output in self { output.lane.write(frame, at: ticket) }
  }

  /// Makes a report if anybody takes it.
  func report(_ make: () -> PictureReport) {
    let takers = filter { $0.format.inputs.contains(.reports) }
    guard !takers.isEmpty else { return }
    let report = make()
    for output in takers { output.lane.write(report) }
  }

  /// From now on, what comes in one read is written together once that is over, or at once.
  func gather(_ gathers: Bool) {
    for output in self where !output.needsDecoding { output.lane.awaitsRelease = gathers }
  }

  /// Writes what has gathered.
  func release() {
    for output in self where !output.needsDecoding { output.lane.release() }
  }

  /// Tells those that get pictures, or the others, that the connection has ended and another will
  /// follow.
  func interrupt(decoded: Bool) {
    for output in self where output.needsDecoding == decoded { output.lane.interrupt() }
  }

  /// Whether the far end is held for one that gets pictures.
  var holdFarEndForPictures: Bool { contains { $0.holdsFarEnd && $0.needsDecoding } }

  /// A lane for which the far end is held, and which has more waiting than it should.
  var crowdedLane: OutputLane? {
    first { $0.holdsFarEnd && !$0.needsDecoding && $0.lane.isCrowded }?.lane
  }
}

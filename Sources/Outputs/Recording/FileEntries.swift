import Bitstream
import Defragment
import RTPWire

/// With which pictures of a stream a file can begin.
struct FileEntries {
  /// The first picture since the last file that is in none.
  var firstMissed: MediaTime?
  /// The last complete parameter sets, which later pictures may need.
  var sets: StreamSets? { known?.sets }
  private var known: (codec: VideoCodec, sets: StreamSets)?

  /// The parameter sets of `unit`.
  mutating func noteSets(of unit: AccessUnit) -> StreamSets {
    let own = StreamSets(in: unit)
    if own.isComplete { known = (unit.codec, own) }
    return own
  }

  /// Notes that a picture of that time is in no file.
  mutating func noteMissed(_ time: MediaTime) { firstMissed = firstMissed ?? time }

  /// Whether a file can begin with `unit`.
  func isEntry(_ unit: AccessUnit) -> Bool {
    guard unit.isRandomAccess, unit.integrity == .whole, unit.format != nil,
      unit.codec.parameterSetTypes.isEmpty || known?.codec == unit.codec
    else { return false }
    if unit.isEntryPoint { return true }
    guard let firstMissed else { return false }
    return unit.time.nanoseconds(since: firstMissed) >= RecorderInput.patience.wholeNanoseconds
  }
}

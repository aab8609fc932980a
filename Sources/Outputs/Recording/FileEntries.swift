import Bitstream
import Defragment
import RTPWire

/// With which pictures of a stream a file can begin.
///
/// Streams that are refreshed bit by bit have no key picture, perhaps but the first: where none has
/// come for a while, pictures from which decoding can recover take their place.
struct FileEntries {
  /// When the last key picture was shown, or the first picture of all.
  private var lastKey: MediaTime?
  /// The last complete parameter sets, which later pictures may need.
  var sets: StreamSets? { known?.sets }
  private var known: (codec: VideoCodec, sets: StreamSets)?

  /// The parameter sets of `unit`.
  mutating func noteSets(of unit: AccessUnit) -> StreamSets {
    let own = StreamSets(in: unit)
    if own.isComplete { known = (unit.codec, own) }
    return own
  }

  /// Whether a file can begin with `unit`, which comes next.
  mutating func isEntry(_ unit: AccessUnit) -> Bool {
    let isWhole = unit.integrity == .whole
    if lastKey == nil || isWhole && unit.isEntryPoint { lastKey = unit.time }
    guard unit.isRandomAccess, isWhole, unit.format != nil,
      unit.codec.parameterSetTypes.isEmpty || known?.codec == unit.codec, let lastKey
    else { return false }
    return unit.isEntryPoint
      || unit.time.nanoseconds(since: lastKey) >= RecorderInput.patience.wholeNanoseconds
  }

  /// The stream goes on elsewhere, or in another file.
  mutating func beginAnew() { lastKey = nil }
}

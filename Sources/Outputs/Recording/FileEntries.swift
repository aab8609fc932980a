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
  private var latest = LatestSets()

  /// The parameter sets that came so far, the latest of each name: later pictures may need them.
  var sets: StreamSets { StreamSets(latest.all) }

  /// The parameter sets of `unit`.
  mutating func noteSets(of unit: AccessUnit) -> StreamSets {
    StreamSets(latest.take(unit), of: unit.codec)
  }

  /// The parameter sets that a file which begins with `unit` has to have in its header; `nil` if
  /// they did not come.
  func header(for unit: AccessUnit) -> StreamSets? {
    latest.sets(for: unit).map { StreamSets($0) }
  }

  /// Whether a file can begin with `unit`, which comes next.
  mutating func isEntry(_ unit: AccessUnit) -> Bool {
    let isWhole = unit.integrity == .whole
    if lastKey == nil || isWhole && unit.isEntryPoint { lastKey = unit.time }
    guard unit.isRandomAccess, isWhole, unit.format != nil, let lastKey, header(for: unit) != nil
    else { return false }
    return unit.isEntryPoint
      || unit.time.nanoseconds(since: lastKey) >= RecorderInput.patience.wholeNanoseconds
  }

  /// The stream goes on elsewhere, or in another file.
  mutating func beginAnew() { lastKey = nil }
}

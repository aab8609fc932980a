import Bitstream
import Defragment
import NIOCore
import RTPWire

/// Follows a stream, so that a browser can begin at any key picture of it.
struct BrowserStream: Sendable {
  private var format: BrowserFormat?
  /// Whether pictures were seen to be shown in another order than they come.
  ///
  /// Some streams say that they reorder nothing, and do (Intel's Media SDK).
  private var reorders = false
  private var lastTime: MediaTime?
  /// Parameter sets may come once, long before the key pictures that need them.
  private var sets: [ByteBuffer] = []

  /// More than any encoder uses.
  private static let most = 64

  mutating func take(_ unit: AccessUnit) -> BrowserUnit {
    if !reorders, let lastTime, unit.time.timescale == lastTime.timescale,
      unit.time.ticks < lastTime.ticks,
      unit.time.nanoseconds(since: lastTime) > -Self.longestReordering
    {
      reorders = true
      format = nil
    }
    lastTime = unit.time
    let mayHaveSets = unit.isRandomAccess || sets.isEmpty
    if mayHaveSets, note(setsIn: unit) { format = nil }
    if unit.isRandomAccess, format == nil, isComplete(for: unit.codec) {
      format = BrowserFormat(
        codec: unit.codec, sets: sets, description: unit.format, reorders: reorders)
    }
    return BrowserUnit(unit, format: unit.isRandomAccess ? format : nil)
  }

  /// Notes that the next unit may be of another stream.
  mutating func restart() { lastTime = nil }

  /// Takes the sets in `unit`; returns whether they are others than before.
  private mutating func note(setsIn unit: AccessUnit) -> Bool {
    let types = unit.codec.parameterSetTypes
    var found: [UInt8: [ByteBuffer]] = [:]
    for part in unit.units where part.isWhole && types.contains(part.type) {
      var set = unit.bytes(of: part)
      while set.readableBytesView.last == 0 { set.moveWriterIndex(to: set.writerIndex - 1) }
      if found[part.type]?.contains(set) != true { found[part.type, default: []].append(set) }
    }
    guard !found.isEmpty else { return false }
    var all: [ByteBuffer] = []
    for type in types {
      // Not a slice, which would keep the picture behind it.
      let new = found[type]?.map { ByteBuffer(bytes: $0.readableBytesView) }
      all += new ?? sets.filter { unit.codec.type(of: NALUnitHead(of: $0)) == type }
    }
    guard all.count <= Self.most, all != sets else { return false }
    sets = all
    return true
  }

  private func isComplete(for codec: VideoCodec) -> Bool {
    codec.parameterSetTypes.allSatisfy { type in
      sets.contains { codec.type(of: NALUnitHead(of: $0)) == type }
    }
  }

  /// A step back by more is another timeline.
  private static let longestReordering: Int64 = 1_000_000_000
}

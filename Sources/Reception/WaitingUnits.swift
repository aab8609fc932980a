import Defragment
import NIOCore

/// Access units of a live stream that wait for room.
struct WaitingUnits: Sendable {
  /// What a held connection may bring: what was already read, and some seconds of video.
  static let maximumCount = 4096
  static let maximumBytes = 32 << 20

  private var units = CircularBuffer<AccessUnit>()
  private var bytes = 0

  var isEmpty: Bool { units.isEmpty }

  /// Adds `unit`; `false` when the limit is exceeded.
  mutating func append(_ unit: AccessUnit) -> Bool {
    units.append(unit)
    bytes += unit.bytes.readableBytes
    return units.count <= Self.maximumCount && bytes <= Self.maximumBytes
  }

  mutating func popFirst() -> AccessUnit? {
    guard let unit = units.popFirst() else { return nil }
    bytes -= unit.bytes.readableBytes
    return unit
  }
}

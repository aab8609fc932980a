import Defragment
import NIOCore

/// Access units and sound of a live stream that wait for room.
struct WaitingUnits: Sendable {
  enum Unit: Sendable {
    case picture(AccessUnit)
    case sound(SoundUnit)

    var byteCount: Int {
      switch self {
      case .picture(let unit): unit.bytes.readableBytes
      case .sound(let unit): unit.bytes.readableBytes
      }
    }
  }

  /// What a held connection may bring: what was already read, and some seconds of video.
  static let maximumCount = 4096
  static let maximumBytes = 32 << 20

  private var units = CircularBuffer<Unit>()
  private var bytes = 0

  var isEmpty: Bool { units.isEmpty }

  /// Adds `unit`; `false` when the limit is exceeded.
  mutating func append(_ unit: Unit) -> Bool {
    units.append(unit)
    bytes += unit.byteCount
    return units.count <= Self.maximumCount && bytes <= Self.maximumBytes
  }

  mutating func popFirst() -> Unit? {
    guard let unit = units.popFirst() else { return nil }
    bytes -= unit.byteCount
    return unit
  }
}

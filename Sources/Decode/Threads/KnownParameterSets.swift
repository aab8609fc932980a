import Bitstream
import Defragment
import NIOCore

/// The parameter sets of a stream in the order in which they came last, for a decoder that begins
/// in the middle of it.
struct KnownParameterSets {
  /// More than encoders use; each is some hundred bytes.
  private static let most = 64

  private(set) var units: [ByteBuffer] = []

  /// Remembers those in `unit`.
  mutating func note(_ unit: AccessUnit) {
    for entry in unit.units where unit.codec.parameterSetTypes.contains(entry.type) {
      note(unit.bytes(of: entry))
    }
  }

  /// Remembers those that came beside the units.
  mutating func note(_ sets: [ByteBuffer]) {
    for set in sets { note(set) }
  }

  private mutating func note(_ set: ByteBuffer) {
    units.removeAll { $0 == set }
    if units.count >= Self.most { units.removeFirst() }
    // Not a slice, which would keep the picture behind it.
    units.append(ByteBuffer(bytes: set.readableBytesView))
  }
}

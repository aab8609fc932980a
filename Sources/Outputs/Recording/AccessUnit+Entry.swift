import Bitstream
package import Defragment
package import RTPWire

extension AccessUnit {
  /// Whether it is complete without any other picture, or as its sender says.
  package var isEntryPoint: Bool {
    guard isRandomAccess else { return false }
    return dependency.map { $0.references == .none } ?? true || recoveryPoint?.distance == 0
  }

  /// Whether it needs other pictures, and none of them is missing.
  package var needsThoseBefore: Bool { !isRandomAccess && integrity == .whole && gaps.isEmpty }

  /// Whether it is shown before the key picture of time `key`, after which it came, and refers to
  /// pictures before that: RASL pictures in H.265, and those of an open group in H.264.
  package func leads(_ key: MediaTime) -> Bool {
    time.nanoseconds(since: key) < 0 && dependency?.references != .randomAccessPoint
  }
}

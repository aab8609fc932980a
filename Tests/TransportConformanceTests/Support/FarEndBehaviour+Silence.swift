import TransportConformance

extension FarEndBehaviour {
  /// How long the transport is to let its far end be silent: `short` where that is what the case is
  /// about or nothing needs to come whole, and otherwise longer than a busy machine stops.
  func silence(_ short: Duration = .seconds(2)) -> Duration {
    switch self {
    case .orderly, .byteByByte: .seconds(20)
    case .pausing, .silent, .hostile: short
    }
  }
}

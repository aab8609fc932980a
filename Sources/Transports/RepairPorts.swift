/// Separate ports beside the media's.
public struct RepairPorts: TransportOption, Hashable {
  /// Whether SMPTE ST 2022-1 correction packets come to the ports two and four above.
  public var takesCorrection = false
  /// The port for retransmissions in a separate session (RFC 4588 §5.3).
  public var retransmissionPort: Int?

  public init() {}

  var isEmpty: Bool { !takesCorrection && retransmissionPort == nil }
}

extension TransportOptions {
  public var repair: RepairPorts {
    get { self[RepairPorts.self] }
    set { self[RepairPorts.self] = newValue }
  }
}

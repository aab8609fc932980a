/// What comes beside the media, on ports of its own.
public struct RepairPorts: TransportOption, Hashable {
  /// Whether correction packets of SMPTE ST 2022-1 come to the ports two and four above.
  public var takesCorrection = false
  /// The port to which packets come that are sent again in a session of their own (RFC 4588 §5.3).
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

/// How packets are told from one another in a stream of bytes: a length in front of each, in network
/// byte order, that does not count itself.
public enum PacketFraming: String, Sendable, Hashable, CaseIterable {
  /// Four bytes: HTTP progressive, and `.rtp4` files.
  case rtp4
  /// Two bytes (RFC 4571 §2).
  case rfc4571

  /// Bytes of the length itself.
  var prefixLength: Int {
    switch self {
    case .rtp4: 4
    case .rfc4571: 2
    }
  }
}

/// What a user can choose about packets behind their lengths.
public struct FramedConfiguration: TransportOption, Hashable {
  /// How the packets stand; `nil` for what is usual where they come from.
  public var framing: PacketFraming?
  /// How long a server may send nothing; `nil` waits for ever.
  public var silence: Duration? = .seconds(5)

  public init() {}
}

extension TransportOptions {
  /// What concerns packets behind their lengths.
  public var framed: FramedConfiguration {
    get { self[FramedConfiguration.self] }
    set { self[FramedConfiguration.self] = newValue }
  }
}

/// How a stream of bytes is divided into packets: by a length before each one, in network byte
/// order, which does not include itself.
public enum PacketFraming: String, Sendable, Hashable, CaseIterable {
  /// Four bytes: HTTP progressive, and `.rtp4` files.
  case rtp4
  /// Two bytes (RFC 4571 §2).
  case rfc4571

  /// The size of the length itself, in bytes.
  var prefixLength: Int {
    switch self {
    case .rtp4: 4
    case .rfc4571: 2
    }
  }
}

/// The options of length-prefixed packets.
public struct FramedConfiguration: TransportOption, Hashable {
  /// The framing; `nil` for the usual one of the source.
  public var framing: PacketFraming?
  /// How long a server may be silent; `nil` waits forever.
  ///
  /// In a catalogue, ``TransportOptions/silence`` takes precedence.
  public var silence: Duration? = .seconds(5)

  public init() {}
}

extension TransportOptions {
  /// The options of length-prefixed packets.
  public var framed: FramedConfiguration {
    get { self[FramedConfiguration.self] }
    set { self[FramedConfiguration.self] = newValue }
  }
}

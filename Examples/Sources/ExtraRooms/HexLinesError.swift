public import Transports

/// Why hexadecimal lines are not received.
public enum HexLinesError: TransportFault {
  /// The system's message.
  case unreadable(path: String, reason: String)
  /// A line that is no packet.
  case notHexadecimal(String)

  public var description: String {
    switch self {
    case .unreadable(let path, let reason): "cannot read \(path) (\(reason)); check the path"
    case .notHexadecimal(let line):
      "'\(line.prefix(40))' is no packet; a line has two hexadecimal digits for each byte"
    }
  }

  /// The file stays as it is, so another attempt would fail too.
  public var fault: ConnectionFault { .permanent }

  public var outcome: TransportOutcome? {
    switch self {
    case .unreadable: .cannotOpen
    case .notHexadecimal: .unrecognized
    }
  }
}

/// Which senders to an address are accepted (RFC 4570, RFC 3376 §2).
public enum SenderFilter: Sendable, Hashable {
  /// Only these addresses or names.
  case only([String])
  /// All but these.
  case allBut([String])

  /// The addresses or names, in either case.
  var hosts: [String] {
    switch self {
    case .only(let hosts), .allBut(let hosts): hosts
    }
  }
}

/// Who is listened to among those who send to an address (RFC 4570, RFC 3376 §2).
public enum SenderFilter: Sendable, Hashable {
  /// Nobody but these addresses or names.
  case only([String])
  /// Anybody but these.
  case allBut([String])

  /// The addresses or names, whichever it says of them.
  var hosts: [String] {
    switch self {
    case .only(let hosts), .allBut(let hosts): hosts
    }
  }
}

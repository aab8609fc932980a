internal import NIOCore

extension TransportHint {
  /// The hints of a client of a hello server.
  static let ofHello: [TransportHint] = [
    // How often would be out of date: nobody looks while nothing comes.
    TransportHint(.waiting) { $0.counters.hellosSent > 0 ? "saying hello" : nil },
    // FFmpeg and GStreamer listen on such an address.
    TransportHint(.refusal) { situation in
      let refused = situation.counters.refused
      guard refused > 0, let address = try? SourceAddress(parsing: situation.source),
        address.isOfThisMachine
      else { return nil }
      return "this machine refused \(refused.counted("datagram")): no server waits for a hello on "
        + "port \(address.port); to listen there, write rtp://:\(address.port)"
    },
    TransportHint(.silence) { situation in
      let sent = situation.counters.hellosSent
      guard sent > 0 else { return nil }
      return "said hello \(sent.times): check host, port, firewall and --hello; "
        + "the sender may still serve another client"
    },
  ]
}

extension SourceAddress {
  /// Whether it is an address, and one of this machine now.
  fileprivate var isOfThisMachine: Bool {
    if host == "localhost" { return true }
    guard let host, let address = try? SocketAddress(ipAddress: host, port: 0),
      let name = address.ipAddress
    else { return false }
    if address.isLoopback || ["0.0.0.0", "::"].contains(name) { return true }
    return (try? System.enumerateDevices())?.contains { $0.address?.ipAddress == name } ?? false
  }
}

extension TransportHint {
  /// The hints of a client of a hello server.
  static let ofHello: [TransportHint] = [
    // How often would be out of date: nobody looks while nothing comes.
    TransportHint(.waiting) { $0.counters.hellosSent > 0 ? "saying hello" : nil },
    TransportHint(.silence) { situation in
      let sent = situation.counters.hellosSent
      guard sent > 0 else { return nil }
      return "said hello \(sent.times): check host, port, firewall and --hello"
    },
  ]
}

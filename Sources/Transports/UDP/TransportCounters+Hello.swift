import RTPWire

/// The counters of a client of a hello server.
extension TransportCounter {
  static let hellosSent = TransportCounter(
    "hellos_sent", unit: .datagrams,
    metric: Metric("hellos_sent", "Datagrams that asked the far end to begin."))
  static let heartbeatsSent = TransportCounter(
    "heartbeats_sent", unit: .datagrams,
    metric: Metric("heartbeats_sent", "Datagrams that asked the far end to go on."))

  static let ofHello: [TransportCounter] = [.hellosSent, .heartbeatsSent]
}

extension TransportCounters {
  public var hellosSent: UInt64 {
    get { self[.hellosSent] }
    set { self[.hellosSent] = newValue }
  }

  public var heartbeatsSent: UInt64 {
    get { self[.heartbeatsSent] }
    set { self[.heartbeatsSent] = newValue }
  }
}

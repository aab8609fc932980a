/// The counters of a client of a hello server.
extension TransportCounter {
  static let hellosSent = TransportCounter("hellos_sent", unit: .datagrams)
  static let heartbeatsSent = TransportCounter("heartbeats_sent", unit: .datagrams)

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

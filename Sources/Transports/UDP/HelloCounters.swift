/// What a client of a server that waits for a hello counts.
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

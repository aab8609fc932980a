internal import NIOCore
internal import RTPWire

/// Makes datagrams from a recording's packets; senders' addresses are converted once.
struct FlowOrigins {
  /// The most senders remembered: the ports of one machine.
  private static let maximumSenders = 64
  private(set) var order = FileOrder()
  private var addresses: [IPEndpoint: SocketAddress] = [:]
  /// The sender of the previous packet, usually the next one's too.
  private var latest: (endpoint: IPEndpoint, address: SocketAddress?)?

  /// `packet` as a datagram of `choice`; `nil` if it belongs to no track.
  mutating func datagram(
    of packet: CarriedPacket, in choice: FlowChoice, at arrival: Instant
  ) -> Datagram? {
    guard let (track, channel) = choice.place(of: packet) else { return nil }
    if channel == .media { order.note(packet, track: track) }
    return Datagram(
      bytes: packet.bytes, arrival: arrival, channel: channel, track: track,
      origin: origin(of: packet.carrier))
  }

  /// The sender of a datagram; packets in a connection have none, as with ``RTSPTransport``.
  private mutating func origin(of carrier: CarriedPacket.Carrier) -> SocketAddress? {
    guard case .udp(let endpoint, _) = carrier else { return nil }
    if let latest, latest.endpoint == endpoint { return latest.address }
    if addresses.count >= Self.maximumSenders { addresses.removeAll() }
    let address = addresses[endpoint] ?? endpoint.socketAddress
    addresses[endpoint] = address
    latest = (endpoint, address)
    return address
  }
}

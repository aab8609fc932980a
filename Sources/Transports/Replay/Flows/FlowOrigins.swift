internal import NIOCore
internal import RTPWire

/// Makes datagrams of what belongs to the tracks of a recording; addresses are made once for many
/// packets.
struct FlowOrigins {
  /// Senders that are remembered: the ports of one machine.
  private static let maximumSenders = 64
  private var addresses: [IPEndpoint: SocketAddress] = [:]
  /// The sender of the packet before, which is that of most.
  private var latest: (endpoint: IPEndpoint, address: SocketAddress?)?

  /// The datagram that `packet` is in `choice`; `nil` where it is none.
  mutating func datagram(
    of packet: CarriedPacket, in choice: FlowChoice, at arrival: Instant
  ) -> Datagram? {
    guard let (track, channel) = choice.place(of: packet) else { return nil }
    return Datagram(
      bytes: packet.bytes, arrival: arrival, channel: channel, track: track,
      origin: origin(of: packet.carrier))
  }

  /// The sender of a datagram; what came in a connection has none, as with ``RTSPTransport``.
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

internal import NIOCore
internal import RTPWire

/// The sockets of one stream of an RTSP session, unicast or multicast; used on the event loop.
struct RTSPMediaPorts {
  /// What receives the stream; `nil` while the server's ports are unknown, and for an unwanted
  /// stream, whose datagrams the kernel drops once its buffer is full.
  private(set) var receiver: UDPReceiver?
  let isMulticast: Bool
  private var sockets: UDPReceiver.Ports
  private let eventLoop: any EventLoop
  private var server: RTSPSession.ServerPorts?
  private var host: SocketAddress?

  /// Opens two sockets on `local`, the address of the connection.
  ///
  /// `place` counts the pairs; where a port was asked for, each pair uses the two ports above those
  /// of the pair before.
  init(
    pairOn local: SocketAddress, place: Int, _ configuration: UDPTransport.SocketConfiguration,
    on eventLoop: any EventLoop
  ) throws(TransportError) {
    let first = configuration.bind?.port ?? 0
    let port = first == 0 ? 0 : first + 2 * place
    // Instead of a port that does not exist, the kernel would choose one that nobody asked for.
    guard (0...65_535).contains(port) else { throw .addressNotAvailable(address: "port \(port)") }
    let pair = try DatagramSocket.pair(
      on: local.with(port: port), interface: configuration.interface)
    isMulticast = false
    self.eventLoop = eventLoop
    sockets = UDPReceiver.Ports(
      media: pair.media, control: pair.control,
      receiveBuffer: pair.media.enlargeReceiveBuffer(to: configuration.receiveBuffer))
  }

  /// Joins a group and, if possible, joins it on the next port for RTCP too.
  ///
  /// The server's packets come by the interface of `local`, the address of the connection, as a
  /// rule; some networks have a route of their own for groups.
  init(
    group: SocketAddress, sources: [SocketAddress], local: SocketAddress,
    _ configuration: UDPTransport.SocketConfiguration, on eventLoop: any EventLoop
  ) throws(TransportError) {
    let port = group.port ?? 0
    let group = try JoinedGroup(
      group, sources: sources, interface: configuration.interface,
      local: local, isGuess: true)
    let media = try group.socket(on: port)
    isMulticast = true
    self.eventLoop = eventLoop
    sockets = UDPReceiver.Ports(
      media: media,
      control: port >= 65_535 ? nil : try? group.socket(on: port + 1), group: group,
      receiveBuffer: media.enlargeReceiveBuffer(to: configuration.receiveBuffer))
  }

  /// The local ports, for the server.
  var local: RTSPSession.ClientPorts {
    RTSPSession.ClientPorts(
      media: sockets.media.localAddress?.port ?? 0,
      control: sockets.control?.localAddress?.port ?? 0)
  }

  /// Records the ports from which the server sends, on the host of the connection.
  mutating func expect(_ server: RTSPSession.ServerPorts, on host: SocketAddress) {
    self.server = server
    self.host = host
    if let port = server.control { sockets.feedbackPort = port }
  }

  /// Begins to deliver: from the server's host and port as far as known; in a group, from the first
  /// sender.
  mutating func deliver(to sink: any DatagramSink) -> EventLoopFuture<Void> {
    var expectation = SourcePin.Expectation.anyone
    if let host {
      expectation = server?.media.map { .peer(host.with(port: $0)) } ?? .host(host)
    }
    let receiver = UDPReceiver(
      ports: sockets, expecting: expectation, hello: nil, on: eventLoop, delivering: sink)
    self.receiver = receiver
    return receiver.start()
  }

  /// These ports as the retransmission ports of another stream.
  var repair: UDPReceiver.Repair {
    UDPReceiver.Repair(socket: sockets.media, channel: .retransmission)
  }

  /// Begins to deliver a repair stream with the media.
  func deliver(_ repair: UDPReceiver.Repair) -> EventLoopFuture<Void>? { receiver?.add(repair) }

  /// Sends an empty packet to each of the server's ports, so that a NAT in front of this machine
  /// lets the answers in (RFC 6263 §4); servers ignore these packets.
  func punch() {
    guard let host, let server else { return }
    if let port = server.media {
      _ = sockets.media.send(ByteBuffer(bytes: Self.emptyPacket), to: host.with(port: port))
    }
    if let port = server.control {
      _ = sockets.control?.send(ByteBuffer(bytes: Self.emptyReport), to: host.with(port: port))
    }
  }

  /// Ends the delivery; the sockets close with this value.
  func close() { receiver?.end(.closed) }

  /// An RTP header of version 2 and nothing else.
  private static let emptyPacket: [UInt8] = [0x80] + [UInt8](repeating: 0, count: 11)
  /// An RTCP receiver report without report blocks.
  private static let emptyReport: [UInt8] =
    [0x80, RTCPPacketType.receiverReport.rawValue, 0, 1, 0, 0, 0, 0]
}

import Glibc
import NIOCore
import NIOPosix

/// A pair of ports from which datagrams go to all clients that came by one address of this machine.
///
/// Clients address their reports to it, and open their NAT by datagrams to it. So it is an even
/// port and the next (RFC 3550 §11).
final class MediaPorts {
  let rtp: any Channel
  let rtcp: any Channel
  /// The address that they are on, as its socket calls it.
  let host: String
  /// The interface by which groups are reached; several addresses may be one interface's.
  let interface: String

  private static let attempts = 20

  private init(rtp: any Channel, rtcp: any Channel, on host: String) {
    self.rtp = rtp
    self.rtcp = rtcp
    self.host = host
    let own = (try? SocketAddress(ipAddress: host, port: 0))?.unmapped.ipAddress ?? host
    // Not every address of an interface is listed, as on loopback.
    interface = Self.device(of: own)?.name ?? own
  }

  /// The device that has an address.
  static func device(of host: String) -> NIONetworkDevice? {
    (try? System.enumerateDevices())?.first { $0.address?.ipAddress == host }
  }

  var numbers: (rtp: Int, rtcp: Int) {
    (rtp.localAddress?.port ?? 0, rtcp.localAddress?.port ?? 0)
  }

  func contains(_ channel: any Channel) -> Bool { channel === rtp || channel === rtcp }

  /// Whether a datagram from `address` left from here.
  func isOrigin(_ address: SocketAddress) -> Bool {
    [rtp, rtcp].contains { $0.localAddress?.unmapped == address.unmapped }
  }

  var canSend: Bool { rtp.isWritable }

  /// Opens a pair on `address`; what comes in goes to `server`, unless the port of the media
  /// `looksClosed`.
  static func open(
    on address: String, server: NIOLoopBound<RTSPServing>, loop: any EventLoop,
    looksClosed: Bool = false, attempts: Int = attempts
  ) -> EventLoopFuture<NIOLoopBound<MediaPorts>> {
    bind(address, 0, server, loop).flatMap { first in
      let port = first.localAddress?.port ?? 0
      let isEven = port.isMultiple(of: 2)
      return bind(address, isEven ? port + 1 : port - 1, server, loop).map { second in
        let ports =
          isEven
          ? MediaPorts(rtp: first, rtcp: second, on: address)
          : MediaPorts(rtp: second, rtcp: first, on: address)
        if looksClosed { ClosedPort.imitate(on: ports.rtp) }
        return NIOLoopBound(ports, eventLoop: loop)
      }.flatMapError { error in
        first.close(promise: nil)
        guard attempts > 1 else { return loop.makeFailedFuture(error) }
        return open(
          on: address, server: server, loop: loop, looksClosed: looksClosed,
          attempts: attempts - 1)
      }
    }
  }

  private static func bind(
    _ address: String, _ port: Int, _ server: NIOLoopBound<RTSPServing>, _ loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    do {
      let local = try SocketAddress(ipAddress: address, port: port)
      let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1 << 20, high: 1 << 22)
      return DatagramBootstrap(group: loop)
        .channelOption(.writeBufferWaterMark, value: waterMark)
        .channelOption(.maxMessagesPerRead, value: 64)
        .bindOrClose(to: local) { channel in
          try channel.pipeline.syncOperations.addHandler(ReportInput(server.value, on: address))
        }.flatMap { channel in
          sendMulticast(from: local, channel).map { channel }
        }
    } catch {
      return loop.makeFailedFuture(error)
    }
  }

  /// Multicast leaves by the interface that the client came by.
  private static func sendMulticast(
    from local: SocketAddress, _ channel: any Channel
  ) -> EventLoopFuture<Void> {
    let nothing = channel.eventLoop.makeSucceededVoidFuture()
    guard let options = channel as? any SocketOptionProvider else { return nothing }
    let own = local.unmapped
    let done: EventLoopFuture<Void>
    var interface: UInt32 = 0
    if let address = own.ipAddress, unsafe inet_pton(AF_INET, address, &interface) == 1 {
      done = options.setIPMulticastIF(unsafe unsafeBitCast(interface, to: in_addr.self)).flatMap {
        options.setIPMulticastTTL(UInt8(MulticastGroup.timeToLive))
      }
    } else {
      guard let device = own.ipAddress.flatMap({ Self.device(of: $0) }) else { return nothing }
      done = options.setIPv6MulticastIF(CUnsignedInt(device.interfaceIndex)).flatMap {
        options.setIPv6MulticastHops(CInt(MulticastGroup.timeToLive))
      }
    }
    return done.flatMapError { _ in nothing }
  }

  func write(_ packet: PacketFeed.Packet, to address: SocketAddress) {
    let channel = packet.goesToControlPort ? rtcp : rtp
    channel.write(AddressedEnvelope(remoteAddress: address, data: packet.bytes), promise: nil)
  }

  func flush() {
    rtp.flush()
    rtcp.flush()
  }

  func close() {
    rtp.close(promise: nil)
    rtcp.close(promise: nil)
  }
}

/// Datagrams of clients.
///
/// RTCP counts if its sender is one; what opens a NAT is nothing else.
private final class ReportInput: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let server: RTSPServing
  private let host: String

  init(_ server: RTSPServing, on host: String) {
    self.server = server
    self.host = host
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = unwrapInboundIn(data)
    server.received(envelope.data, from: envelope.remoteAddress)
  }

  func channelInactive(context: ChannelHandlerContext) {
    server.portsClosed(host, context.channel)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { server.portsTakeMore() }
  }

  /// ICMP errors of clients that have gone.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

extension SocketAddress {
  /// IPv4 as such where it stands in an IPv6 address (RFC 4291 §2.5.5.2), as in sockets for both.
  var unmapped: SocketAddress {
    guard let host = ipAddress, host.lowercased().hasPrefix("::ffff:"),
      let own = try? SocketAddress(ipAddress: String(host.dropFirst(7)), port: port ?? 0)
    else { return self }
    return own
  }
}

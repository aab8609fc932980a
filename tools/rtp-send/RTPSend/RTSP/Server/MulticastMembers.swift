import Glibc
import NIOCore
import NIOPosix
import RTPWire

/// The clients that watch by multicast, and the sockets on which their groups' RTCP is heard.
///
/// Some members report to the group (RFC 3550 §6.2), others to the port next to that from which
/// media come, and nothing says from which ports. So a member is known by its host.
final class MulticastMembers {
  private let loop: NIOIsolatedEventLoop
  private unowned let server: RTSPServing
  private var players: [RTSPPlayer] = []
  private var listeners: [MulticastGroup: Listener] = [:]

  private struct Listener {
    /// The addresses of this machine by whose interfaces the group is joined.
    var hosts: Set<String>
    /// `nil` until it is open.
    var channel: (any Channel)?
  }

  init(of server: RTSPServing, on loop: NIOIsolatedEventLoop) {
    self.server = server
    self.loop = loop
  }

  var isEmpty: Bool { players.isEmpty }

  /// Takes what a client has set up now, which may be no group.
  func update(_ player: RTSPPlayer) {
    guard player.isMulticast || players.contains(where: { $0 === player }) else { return }
    players.removeAll { $0 === player }
    if player.isMulticast { players.append(player) }
    listen()
  }

  func remove(_ player: RTSPPlayer) {
    guard players.contains(where: { $0 === player }) else { return }
    players.removeAll { $0 === player }
    listen()
  }

  /// RTCP of somebody: what its host's members say.
  func received(_ bytes: ByteBuffer, from address: SocketAddress) {
    let host = address.unmapped.ipAddress
    var programmes: [Programme] = []
    for player in players where player.remoteAddress?.unmapped.ipAddress == host {
      player.connection.noteReport(of: player.id)
      // Members of one host may say it together, and it is answered once, to the group.
      guard !programmes.contains(where: { $0 === player.programme }) else { continue }
      programmes.append(player.programme)
      player.programme.receive(bytes, from: player)
    }
  }

  /// Listens where there are members, and nowhere else.
  private func listen() {
    var wanted: [MulticastGroup: Set<String>] = [:]
    for (group, host) in players.flatMap(\.memberships) {
      wanted[group, default: []].insert(host)
    }
    for (group, listener) in listeners where wanted[group] == nil {
      listeners[group] = nil
      listener.channel?.close(promise: nil)
    }
    for (group, hosts) in wanted {
      let known = listeners[group]
      listeners[group] = Listener(
        hosts: hosts.union(known?.hosts ?? []), channel: known?.channel)
      if known == nil { open(group) }
      guard let known, let channel = known.channel else { continue }
      for host in hosts.subtracting(known.hosts) { Self.join(group, by: host, channel) }
    }
  }

  /// Opens the socket of a group's RTCP, which other programs of this machine may have as well.
  private func open(_ group: MulticastGroup) {
    guard let address = group.control else { return }
    let server = NIOLoopBound(server, eventLoop: loop.nonisolated())
    DatagramBootstrap(group: loop.nonisolated())
      .channelOption(.socketOption(.so_reuseaddr), value: 1)
      .bindOrClose(to: address) { channel in
        try channel.pipeline.syncOperations.addHandler(GroupInput(server.value))
      }.assumeIsolated().whenComplete { result in
        switch result {
        case .success(let channel): self.opened(group, channel)
        // The next change of the members tries it again.
        case .failure where self.listeners[group]?.channel == nil: self.listeners[group] = nil
        case .failure: break
        }
      }
  }

  private func opened(_ group: MulticastGroup, _ channel: any Channel) {
    // All may have left meanwhile, and others come, who have opened another.
    guard let listener = listeners[group], listener.channel == nil else {
      return channel.close(promise: nil)
    }
    listeners[group]?.channel = channel
    for host in listener.hosts { Self.join(group, by: host, channel) }
  }

  /// Joins by the interface that has the address `host`.
  ///
  /// Where that fails, members are heard only if they report to the port next to that of the media.
  private static func join(_ group: MulticastGroup, by host: String, _ channel: any Channel) {
    guard let options = channel as? any SocketOptionProvider,
      let own = (try? SocketAddress(ipAddress: host, port: 0))?.unmapped.ipAddress
    else { return }
    var request = ip_mreq()
    if unsafe inet_pton(AF_INET, own, &request.imr_interface) == 1,
      unsafe inet_pton(AF_INET, group.address, &request.imr_multiaddr) == 1
    {
      _ = options.unsafeSetSocketOption(level: .ip, name: .ip_add_membership, value: request)
    } else if let device = MediaPorts.device(of: own) {
      var request = ipv6_mreq()
      request.ipv6mr_interface = UInt32(device.interfaceIndex)
      guard unsafe inet_pton(AF_INET6, group.address, &request.ipv6mr_multiaddr) == 1 else {
        return
      }
      _ = options.unsafeSetSocketOption(level: .ipv6, name: .ipv6_join_group, value: request)
    }
  }
}

extension MulticastGroup {
  /// Where its RTCP goes.
  var control: SocketAddress? { try? SocketAddress(ipAddress: address, port: port + 1) }
}

/// What is sent to a group's RTCP port.
private final class GroupInput: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let server: RTSPServing

  init(_ server: RTSPServing) { self.server = server }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = unwrapInboundIn(data)
    server.received(envelope.data, from: envelope.remoteAddress)
  }
}

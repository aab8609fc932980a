import BlockingIO
internal import NIOCore
internal import RTPWire

/// A multicast group and the sockets that receive it; used on one event loop.
///
/// The kernel notes by which network interface a socket has joined. It forgets that when the
/// interface goes, and does not follow a route to another one, so the group is joined again.
final class JoinedGroup {
  private let group: SocketAddress
  private let sources: [SocketAddress]
  private let isExcluding: Bool
  /// The name of the interface, if it was given.
  private let name: String?
  /// An address of this machine, whose interface is taken where none is named.
  private let local: SocketAddress?
  /// Whether the group may come elsewhere.
  private let isGuess: Bool
  /// The index of the interface that was joined by, or 0 for that of the route.
  private var interface: UInt32
  private var sockets: [DatagramSocket] = []
  private var timer: Scheduled<Void>?

  /// A group that is received from any source, from `sources` only, or from all but those.
  ///
  /// It is joined by the interface called `name`, else by that of the address `local`, else by that
  /// of the group's zone, else by that of the route. Where `local` is a guess (`isGuess`), it is
  /// joined by the route too.
  init(
    _ group: SocketAddress, sources: [SocketAddress], isExcluding: Bool = false,
    interface name: String?, local: SocketAddress?, isGuess: Bool = false
  ) throws(TransportError) {
    self.group = group
    self.sources = sources
    self.isExcluding = isExcluding
    self.name = name
    self.isGuess = isGuess
    // The wildcard addresses are those of no interface.
    self.local = local.flatMap { ["0.0.0.0", "::"].contains($0.ipAddress) ? nil : $0 }
    interface = 0
    interface = try interfaceNow()
  }

  /// A socket that receives the group on `port`.
  func socket(on port: Int) throws(TransportError) -> DatagramSocket {
    let socket = try DatagramSocket(family: group.family)
    socket.shareAddress()
    // Bound to the group, the socket does not receive what is sent to the port alone.
    try socket.bind(to: group.with(port: port).with(zone: interface))
    try join(socket, by: interface)
    // The kernel refuses it where that is the same interface.
    if isGuess, name == nil, interface > 0 { try? join(socket, by: 0) }
    sockets.append(socket)
    return socket
  }

  /// Joins again from time to time while no media comes, until ``stop()``.
  func keep(on eventLoop: any EventLoop, lastMedia: @escaping () -> Instant?) {
    timer = eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(Self.patience)) { [self] in
      let silence = lastMedia()?.nanoseconds(to: Instant.now) ?? .max
      if silence >= Self.patience { joinAgain() }
      keep(on: eventLoop, lastMedia: lastMedia)
    }
  }

  func stop() { timer?.cancel() }

  private func joinAgain() {
    // A route may lead elsewhere by now; where it does not, the kernel refuses to join twice.
    guard let now = try? interfaceNow(), now != interface || now == 0 else { return }
    let joined = sockets.filter { (try? join($0, by: now)) != nil }
    guard !joined.isEmpty, now != interface else { return }
    for socket in joined { socket.leave(group, interface: interface) }
    interface = now
  }

  private func interfaceNow() throws(TransportError) -> UInt32 {
    if let name { return try DatagramSocket.interfaceIndex(named: name) }
    guard let local else { return group.zone }
    // Several interfaces may have the same address of their link.
    if local.zone > 0 { return local.zone }
    let devices = (try? System.enumerateDevices()) ?? []
    guard let device = devices.first(where: { $0.address?.ipAddress == local.ipAddress }) else {
      if isGuess { return 0 }
      throw .addressNotAvailable(address: local.endpoint)
    }
    return UInt32(clamping: device.interfaceIndex)
  }

  private func join(_ socket: DatagramSocket, by interface: UInt32) throws(TransportError) {
    if sources.isEmpty || isExcluding {
      try socket.join(group: group, source: nil, interface: interface)
    }
    for source in sources {
      if isExcluding {
        socket.block(source, of: group, interface: interface)
      } else {
        try socket.join(group: group, source: source, interface: interface)
      }
    }
  }

  /// In nanoseconds: longer than senders pause, as a rule.
  private static let patience: Int64 = 10_000_000_000
}

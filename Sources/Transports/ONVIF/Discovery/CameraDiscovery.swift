public import NIOCore
internal import NIOPosix

/// Looks for cameras on the networks of this machine (WS-Discovery, ONVIF Core §7).
public enum CameraDiscovery {
  /// How long answers are waited for, if nobody says: cameras answer within half a second, and some
  /// take a few.
  public static let usualTime = Duration.seconds(5)

  /// Asks on every interface that can multicast, or on the one called `name`, and calls `found`
  /// with each camera once, as soon as it has answered, on `eventLoop`.
  ///
  /// Returns after `time`, which must be shorter than a year.
  ///
  /// - Throws: ``TransportError`` if nothing can be asked on any interface.
  public static func run(
    on name: String? = nil, for time: Duration = usualTime, eventLoop: any EventLoop,
    found: @escaping @Sendable (DiscoveredCamera) -> Void
  ) async throws {
    let places = try DiscoveryPlace.all(on: name)
    try await eventLoop.flatSubmit {
      let search = DiscoverySearch(on: eventLoop, found: found)
      return search.run(on: places, for: TimeAmount(time))
    }.get()
  }
}

/// An interface and the family of addresses by which cameras are looked for on it.
struct DiscoveryPlace: Sendable, Hashable {
  let interface: String
  let index: UInt32
  /// The own address from which probes are sent.
  let local: SocketAddress
  let group: SocketAddress

  /// One for each family of every interface that can multicast, or of the one called `name`, even
  /// if it does not say that it can, as the loopback interface.
  ///
  /// - Throws: ``TransportError``.
  static func all(on name: String?) throws -> [DiscoveryPlace] {
    if let name { _ = try DatagramSocket.interfaceIndex(named: name) }
    var places: [DiscoveryPlace] = []
    for device in try System.enumerateDevices()
    where name.map({ $0 == device.name }) ?? device.multicastSupported {
      guard let address = device.address, [.inet, .inet6].contains(address.protocol),
        !places.contains(where: {
          $0.interface == device.name && $0.local.protocol == address.protocol
        })
      else { continue }
      let isIPv4 = address.protocol == .inet
      places.append(
        DiscoveryPlace(
          interface: device.name, index: UInt32(clamping: device.interfaceIndex),
          // Of IPv6 the kernel chooses the address of the link.
          local: isIPv4 ? address.with(port: 0) : try SocketAddress(ipAddress: "::", port: 0),
          group: try SocketAddress(
            ipAddress: isIPv4 ? DiscoveryDialogue.group4 : DiscoveryDialogue.group6,
            port: DiscoveryDialogue.port)))
    }
    guard !places.isEmpty else {
      throw TransportError.system(
        operation: "look for cameras",
        reason: (name.map { "\($0) has" } ?? "no network interface that can multicast has")
          + (name == nil ? " an IP address" : " no IP address"))
    }
    return places
  }
}

/// A search at work, on its event loop; its sockets and its timers keep it alive until the end.
private final class DiscoverySearch {
  private let eventLoop: any EventLoop
  private let found: @Sendable (DiscoveredCamera) -> Void
  private var dialogue: DiscoveryDialogue
  private var channels: [(any Channel, DiscoveryPlace)] = []

  init(on eventLoop: any EventLoop, found: @escaping @Sendable (DiscoveredCamera) -> Void) {
    self.eventLoop = eventLoop
    self.found = found
    var randomness = SystemRandomNumberGenerator()
    dialogue = DiscoveryDialogue(randomness: &randomness)
  }

  func run(on places: [DiscoveryPlace], for time: TimeAmount) -> EventLoopFuture<Void> {
    let isolated = eventLoop.assumeIsolated()
    let openings = places.map { place in open(place) }
    let end = eventLoop.makePromise(of: Void.self)
    EventLoopFuture.whenAllComplete(openings, on: eventLoop).assumeIsolated().whenSuccess {
      results in
      // An interface that goes down meanwhile is no reason to end.
      if self.channels.isEmpty, case .failure(let error)? = results.first {
        return end.fail(error)
      }
      for delay in DiscoveryDialogue.schedule {
        isolated.scheduleTask(in: .milliseconds(Int64(delay))) { self.probe() }
      }
      isolated.scheduleTask(in: time) {
        for (channel, _) in self.channels { channel.close(promise: nil) }
        self.channels = []
        end.succeed()
      }
    }
    return end.futureResult
  }

  private func open(_ place: DiscoveryPlace) -> EventLoopFuture<Void> {
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    do {
      let socket = try DatagramSocket.bound(to: place.local)
      try socket.sendToGroups(by: place.index)
      return DatagramBootstrap(group: eventLoop)
        // Answers may be as long as datagrams can be.
        .channelOption(
          .recvAllocator,
          value: FixedSizeRecvByteBufferAllocator(capacity: DatagramSocket.maximumDatagram)
        )
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(DiscoveryAnswers(bound.value, on: place))
          }
        }
        .withBoundSocket(try socket.duplicate())
        .map { bound.value.channels.append(($0, place)) }
    } catch { return eventLoop.makeFailedFuture(error) }
  }

  private func probe() {
    for (channel, place) in channels {
      for text in dialogue.probes {
        channel.writeAndFlush(
          AddressedEnvelope(remoteAddress: place.group, data: ByteBuffer(string: text)),
          promise: nil)
      }
    }
  }

  func take(_ datagram: AddressedEnvelope<ByteBuffer>, on place: DiscoveryPlace) {
    guard var sender = datagram.remoteAddress.ipAddress else { return }
    // An address of the link means nothing without it (RFC 4007 §11).
    if sender.hasPrefix("fe80:") { sender += "%\(place.interface)" }
    for camera in dialogue.take(datagram.data.readableBytesView, from: sender) { found(camera) }
  }
}

private final class DiscoveryAnswers: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let search: DiscoverySearch
  private let place: DiscoveryPlace

  init(_ search: DiscoverySearch, on place: DiscoveryPlace) {
    self.search = search
    self.place = place
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    search.take(unwrapInboundIn(data), on: place)
  }

  /// Nothing that comes ends a search, such as that a group cannot be reached.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

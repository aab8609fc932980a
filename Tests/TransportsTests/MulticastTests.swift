import Glibc
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Groups on one of this machine's interfaces; skipped if none can send to a group.
struct MulticastTests {
  /// An interface that can send to a group of the family, with one of its addresses.
  struct Link: Sendable {
    var name: String
    var index: UInt32
    var address: String
  }

  private static let v4 = link(.v4, group: "239.255.77.1")
  private static let v6 = link(.v6, group: "ff15::77:1")

  private static func link(_ family: DatagramSocket.Family, group: String) -> Link? {
    let devices = (try? System.enumerateDevices()) ?? []
    for device in devices {
      guard let address = device.address, address.family == family, let host = address.ipAddress,
        let socket = try? DatagramSocket(family: family)
      else { continue }
      let link = Link(name: device.name, index: UInt32(device.interfaceIndex), address: host)
      guard let descriptor = try? socket.duplicate() else { continue }
      defer { close(descriptor) }
      send(on: link, family, descriptor: descriptor)
      if (try? socket.bind(to: address.with(port: 0))) != nil,
        socket.send(rtp(0), to: endpoint(group, 9)) == .sent
      {
        return link
      }
    }
    return nil
  }

  /// Makes a socket send to groups on `link`.
  private static func send(
    on link: Link, _ family: DatagramSocket.Family, descriptor: CInt
  ) {
    switch family {
    case .v4:
      var request = ip_mreqn()
      request.imr_ifindex = CInt(link.index)
      unsafe setsockopt(
        descriptor, CInt(IPPROTO_IP), IP_MULTICAST_IF, &request,
        socklen_t(MemoryLayout<ip_mreqn>.size))
    case .v6:
      var index = link.index
      unsafe setsockopt(
        descriptor, CInt(IPPROTO_IPV6), IPV6_MULTICAST_IF, &index,
        socklen_t(MemoryLayout<UInt32>.size))
    }
  }

  private func sender(_ host: String, on link: Link) async throws -> FarEnd {
    let sender = try await FarEnd(host)
    let descriptor = try await sender.descriptor()
    Self.send(on: link, sender.address.family, descriptor: descriptor)
    close(descriptor)
    return sender
  }

  /// How a listener is told the interface.
  enum Way: Sendable, CaseIterable { case name, address, zone }

  private func listener(
    _ group: String, port: Int, source: String? = nil, on link: Link, by way: Way = .name
  ) -> UDPTransport {
    var sockets = UDPTransport.SocketConfiguration()
    switch way {
    case .name: sockets.interface = link.name
    case .address: sockets.bind = UDPTransport.LocalAddress(host: link.address, port: 0)
    case .zone: break
    }
    let host = way == .zone ? "\(group)%\(link.name)" : group
    return UDPTransport(
      role: .listener(.init(host: host, port: port, source: source)), sockets: sockets,
      on: MultiThreadedEventLoopGroup.singleton.next())
  }

  private func anySource(_ group: String, on link: Link, by way: Way) async throws {
    let first = listener(group, port: 0, on: link, by: way)
    let firstSink = RecordingSink()
    _ = try await first.open(delivering: firstSink)
    let port = try #require(try await first.localAddress()?.port)
    // A second receiver on the same machine shares the port.
    let second = listener(group, port: port, on: link, by: way)
    let secondSink = RecordingSink()
    _ = try await second.open(delivering: secondSink)
    let sender = try await sender(link.address, on: link)
    for number in 0..<10 as Range<UInt16> {
      try await sender.send(rtp(number), to: endpoint(group, port))
    }
    for sink in [firstSink, secondSink] {
      #expect(try await sink.datagrams.first(10).map(\.bytes) == (0..<10).map { rtp($0) })
    }
    first.close()
    second.close()
    try await sender.close()
  }

  private func oneSource(_ group: String, absent: String, on link: Link) async throws {
    let wrong = listener(group, port: 0, source: absent, on: link)
    let wrongSink = RecordingSink()
    _ = try await wrong.open(delivering: wrongSink)
    let port = try #require(try await wrong.localAddress()?.port)
    let right = listener(group, port: port, source: link.address, on: link)
    let rightSink = RecordingSink()
    _ = try await right.open(delivering: rightSink)
    let sender = try await sender(link.address, on: link)
    for number in 0..<10 as Range<UInt16> {
      try await sender.send(rtp(number), to: endpoint(group, port))
    }
    #expect(try await rightSink.datagrams.first(10).map(\.bytes) == (0..<10).map { rtp($0) })
    try await wrong.eventLoop.submit {}.get()
    #expect(wrongSink.datagrams.elements.isEmpty)
    // The kernel keeps them out; the pin would have had to.
    #expect(await wrong.counters().foreignOrigin == 0)
    right.close()
    wrong.close()
    try await sender.close()
  }

  @Test(
    .enabled(if: v4 != nil, "no interface sends to IPv4 groups"), arguments: [Way.name, .address])
  func anIPv4GroupIsReceivedFromAnySource(by way: Way) async throws {
    try await anySource("239.255.77.1", on: #require(Self.v4), by: way)
  }

  @Test(
    .enabled(if: v6 != nil, "no interface sends to IPv6 groups"), arguments: [Way.name, .address])
  func anIPv6GroupIsReceivedFromAnySource(by way: Way) async throws {
    try await anySource("ff15::77:1", on: #require(Self.v6), by: way)
  }

  @Test(
    .enabled(if: v6 != nil, "no interface sends to IPv6 groups"), arguments: Way.allCases)
  func aLinkLocalIPv6GroupIsReceivedOnTheNamedInterface(by way: Way) async throws {
    let link = try #require(Self.v6)
    let transport = listener("ff12::77:1", port: 0, on: link, by: way)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let local = try #require(try await transport.localAddress())
    let sender = try await sender(link.address, on: link)
    try await sender.send(rtp(1), rtp(2), to: local)
    _ = try await sink.datagrams.first(2)
    transport.close()
    try await sender.close()
  }

  @Test func aGroupIsReceivedOnThePortToBind() async throws {
    var sockets = UDPTransport.SocketConfiguration()
    sockets.interface = "lo"
    // What is free there is so in the group.
    let other = try await FarEnd()
    sockets.bind = UDPTransport.LocalAddress(host: nil, port: other.port)
    let transport = UDPTransport(
      role: .listener(.init(host: "239.255.77.2", port: 1)), sockets: sockets,
      on: MultiThreadedEventLoopGroup.singleton.next())
    _ = try await transport.open(delivering: RecordingSink())
    #expect(try await transport.localAddress() == endpoint("239.255.77.2", other.port))
    transport.close()
    try await other.close()
  }

  @Test func anAddressToBindThatNoInterfaceHasIsNamed() async throws {
    var sockets = UDPTransport.SocketConfiguration()
    sockets.bind = UDPTransport.LocalAddress(host: "203.0.113.77", port: 5004)
    let transport = UDPTransport(
      role: .listener(.init(host: "239.255.77.1", port: 0)), sockets: sockets,
      on: MultiThreadedEventLoopGroup.singleton.next())
    await #expect(throws: TransportError.addressNotAvailable(address: "203.0.113.77:5004")) {
      try await transport.open(delivering: RecordingSink())
    }
  }

  @Test(.enabled(if: v4 != nil, "no interface sends to IPv4 groups"))
  func anIPv4GroupIsReceivedFromOneSource() async throws {
    try await oneSource("232.255.77.1", absent: "192.0.2.99", on: #require(Self.v4))
  }

  @Test(.enabled(if: v6 != nil, "no interface sends to IPv6 groups"))
  func anIPv6GroupIsReceivedFromOneSource() async throws {
    try await oneSource("ff35::77:1", absent: "2001:db8::99", on: #require(Self.v6))
  }
}

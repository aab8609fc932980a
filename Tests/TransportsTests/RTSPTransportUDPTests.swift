import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Sessions whose media comes, or should have come, over UDP.
struct RTSPTransportUDPTests {
  /// A server that sends from `media` and `control`, and says so in its response to SETUP.
  private func script(
    _ media: FarEnd, _ control: FarEnd, names: Bool = true
  ) -> RTSPFarEnd.Script {
    var script = RTSPFarEnd.Script()
    let ports = names ? ";server_port=\(media.port)-\(control.port)" : ""
    script.answer = { request in
      guard request.method == "SETUP", let wanted = request.headers["transport"] else { return nil }
      return "RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nSession: 7\r\nTransport: \(wanted)\(ports)\r\n\r\n"
    }
    return script
  }

  /// The ports that the client asked for.
  private func ports(_ server: RTSPFarEnd) async throws -> (media: Int, control: Int) {
    let setup = try await server.requests.first(3)[2]
    let transport = try #require(setup.headers["transport"])
    let ports = try #require(transport.split(separator: "=").last).split(separator: "-")
    return (
      try #require(ports.first.flatMap { Int($0) }), try #require(ports.last.flatMap { Int($0) })
    )
  }

  @Test(arguments: ["127.0.0.1", "::1"])
  func mediaComesFromTheServersPortsAndFeedbackGoesThere(host: String) async throws {
    let (media, control) = (try await FarEnd(host), try await FarEnd(host))
    let server = try await RTSPFarEnd(host, script(media, control))
    let literal = host == "::1" ? "[::1]" : host
    let transport = try RTSPTransport("rtsp://\(literal):\(server.port)/stream", .udp) {
      $0.selection = .firstVideo
    }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let ports = try await ports(server)
    #expect(ports.media.isMultiple(of: 2) && ports.control == ports.media + 1)
    // A NAT before this machine has to see something go to both ports.
    let holes = (try await media.received.first(1)[0], try await control.received.first(1)[0])
    #expect(holes.0.origin == endpoint(host, ports.media))
    #expect(holes.1.origin == endpoint(host, ports.control))

    let stranger = try await FarEnd(host)
    try await stranger.send(senderReport(), to: endpoint(host, ports.media))
    try await media.send(rtp(1), rtp(2), to: endpoint(host, ports.media))
    try await control.send(senderReport(), to: endpoint(host, ports.control))
    let datagrams = try await sink.datagrams.first(3)
    #expect(Set(datagrams.map(\.bytes)) == [rtp(1), rtp(2), senderReport()])
    #expect(sink.descriptions.elements.count == 1)

    transport.sendFeedback(senderReport(ssrc: 9), track: 0)
    let reports = try await control.received.first(3)
    #expect(reports.map(\.bytes).contains(senderReport(ssrc: 9)))
    let counters = await transport.counters()
    #expect(counters.carriage == .udp)
    #expect(counters.delivered == 3)
    #expect(counters.receiveBuffer > 0)
    #expect(counters.localAddress?.hasSuffix(":\(ports.media)") == true)
    transport.close()
    _ = try await sink.ends.first(1)
    for end in [media, control, stranger] { try await end.close() }
    try await server.close()
  }

  @Test func whatComesWithoutRTPIsSaidOnce() async throws {
    let (media, control) = (try await FarEnd(), try await FarEnd())
    let server = try await RTSPFarEnd("127.0.0.1", script(media, control))
    let transport = try RTSPTransport(server.url, .udp) { $0.selection = .firstVideo }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let target = try await endpoint("127.0.0.1", ports(server).media)
    let stream = ByteBuffer(bytes: ([0x47] + [UInt8](repeating: 0xFF, count: 187)) + [0x47])
    for _ in 0..<3 { try await media.send(stream, to: target) }
    let counters = try await transport.counters {
      $0.diagnostics.contains { $0.words.contains("MPEG-TS") }
    }
    #expect(counters.diagnostics.count { $0.words.contains("MPEG-TS") } == 1)
    transport.close()
    _ = try await sink.ends.first(1)
    let last = await transport.counters().diagnostics
    #expect(last.starts(with: counters.diagnostics))
    #expect(last.count { $0.words.contains("MPEG-TS") } == 1)
    for end in [media, control] { try await end.close() }
    try await server.close()
  }

  @Test func retransmissionsComeToPortsOfTheirOwn() async throws {
    let ends = [try await FarEnd(), try await FarEnd(), try await FarEnd(), try await FarEnd()]
    let description =
      "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:FID 1 2\r\na=control:*\r\n"
      + "m=video 0 RTP/AVPF 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\na=mid:1\r\n"
      + "m=video 0 RTP/AVPF 97\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n"
      + "a=control:track2\r\na=mid:2\r\n"
    let serverPorts = ends.map(\.port)
    var script = RTSPFarEnd.Script()
    script.answer = { request in
      switch request.method {
      case "DESCRIBE":
        return "RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nContent-Type: application/sdp\r\n"
          + "Content-Length: \(description.utf8.count)\r\n\r\n" + description
      case "SETUP":
        let first = request.uri.hasSuffix("track1") ? 0 : 2
        return "RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nSession: 7\r\nTransport: "
          + (request.headers["transport"] ?? "")
          + ";server_port=\(serverPorts[first])-\(serverPorts[first + 1])\r\n\r\n"
      default: return nil
      }
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url, .udp)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    // The hole punched for replies shows where to send.
    let ports = try await [ends[0].received.first(1)[0], ends[2].received.first(1)[0]]
      .map(\.origin)
    try await ends[0].send(rtp(1), rtp(2), to: ports[0])
    _ = try await sink.datagrams.first(2)
    let stranger = try await FarEnd("127.0.0.2")
    try await stranger.send(rtp(70), to: ports[1])
    try await transport.counters { $0.foreignOrigin == 1 }
    try await ends[2].send(rtp(71), to: ports[1])
    let datagrams = try await sink.datagrams.first(3)
    #expect(datagrams.map(\.channel) == [.media, .media, .retransmission])
    #expect(datagrams.last?.bytes == rtp(71))
    #expect(
      sink.descriptions.elements.first?.first?.retransmissionSession
        == [97: RetransmissionFormat(original: 96)])
    transport.close()
    _ = try await sink.ends.first(1)
    for end in ends + [stranger] { try await end.close() }
    try await server.close()
  }

  @Test func anotherHostIsNeverBelieved() async throws {
    let (media, control) = (try await FarEnd(), try await FarEnd())
    let server = try await RTSPFarEnd("127.0.0.1", script(media, control, names: false))
    let transport = try RTSPTransport(server.url, .udp)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let port = try await ports(server).media
    let stranger = try await FarEnd("127.0.0.2")
    try await stranger.send(rtp(1, ssrc: 2), rtp(2, ssrc: 2), to: endpoint("127.0.0.1", port))
    try await transport.counters { $0.foreignOrigin == 2 }
    // Of the server's own host any port may prove itself when none was named.
    try await media.send(rtp(1), rtp(2), to: endpoint("127.0.0.1", port))
    #expect(try await sink.datagrams.first(2).map(\.bytes) == [rtp(1), rtp(2)])
    transport.close()
    for end in [media, control, stranger] { try await end.close() }
    try await server.close()
  }

  @Test func aServerThatSendsFromOtherPortsThanItNamesAndRefusesItsOwnIsHeard() async throws {
    let (media, control) = (try await FarEnd(), try await FarEnd())
    let (named, other) = (script(media, control), try await FarEnd())
    // These ports are closed now, so the host refuses what is sent there (ICMP).
    for end in [media, control] { try await end.close() }
    let server = try await RTSPFarEnd("127.0.0.1", named)
    let transport = try RTSPTransport(server.url, .udp)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let port = try await ports(server).media
    try await other.send(rtp(1), rtp(2), to: endpoint("127.0.0.1", port))
    #expect(try await sink.datagrams.first(2).map(\.bytes) == [rtp(1), rtp(2)])
    transport.close()
    try await other.close()
    try await server.close()
  }

  @Test func aServerThatRefusesUDPIsPlayedInTheConnection() async throws {
    var script = RTSPFarEnd.Script()
    script.answer = { request in
      request.headers["transport"]?.contains("TCP") == false
        ? "RTSP/1.0 461 Unsupported Transport\r\nCSeq: CSEQ\r\n\r\n" : nil
    }
    script.played = { $0.send(frame: rtp(1)) }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url, .automatic)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(1)[0].bytes == rtp(1))
    #expect(await transport.counters().carriage == .tcp)
    transport.close()
    try await server.close()
  }

  @Test func whenNothingComesOverUDPItIsPlayedInTheConnection() async throws {
    let (media, control) = (try await FarEnd(), try await FarEnd())
    var script = script(media, control)
    script.played = { $0.send(frame: rtp(1)) }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url, .automatic)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(await transport.counters().carriage == .udp)
    #expect(try await sink.datagrams.first(1, within: .seconds(10))[0].bytes == rtp(1))
    let counters = try await transport.counters { $0.carriage == .tcp }
    #expect(!counters.diagnostics.isEmpty)
    #expect(sink.descriptions.elements.count == 1)
    transport.close()
    _ = try await sink.ends.first(1)
    for end in [media, control] { try await end.close() }
    try await server.close()
  }

  @Test func aGroupIsJoined() async throws {
    let group = "239.255.7.\(Int.random(in: 1...254))"
    let sender = try await FarEnd()
    let port = sender.port
    var script = RTSPFarEnd.Script()
    script.answer = { request in
      guard request.method == "SETUP" else { return nil }
      return "RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nSession: 7\r\n"
        + "Transport: RTP/AVP;multicast;destination=\(group);port=\(port)-\(port + 1);ttl=1\r\n\r\n"
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    var configuration = RTSPConfiguration()
    configuration.lowerTransport = .multicast
    var sockets = UDPTransport.SocketConfiguration()
    sockets.interface = "lo"
    let transport = try RTSPTransport(
      source: server.url, configuration: configuration, sockets: sockets,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(await transport.counters().carriage == .multicast)
    try await sender.send(rtp(1), rtp(2), to: endpoint(group, port))
    #expect(try await sink.datagrams.first(2).map(\.bytes) == [rtp(1), rtp(2)])
    transport.close()
    _ = try await sink.ends.first(1)
    try await sender.close()
    try await server.close()
  }

  @Test func aPairBeyondTheLastPortIsNotOpenedElsewhere() {
    var sockets = UDPTransport.SocketConfiguration()
    sockets.bind = UDPTransport.LocalAddress(host: nil, port: 65_534)
    #expect(throws: TransportError.addressNotAvailable(address: "port 65536")) {
      _ = try RTSPMediaPorts(
        pairOn: endpoint("127.0.0.1", 0), place: 1, sockets,
        on: MultiThreadedEventLoopGroup.singleton.next())
    }
  }

  @Test func aPairOfPortsIsEvenAndOdd() throws {
    var kept: [(DatagramSocket, DatagramSocket)] = []
    for _ in 0..<50 {
      let pair = try DatagramSocket.pair(on: endpoint("127.0.0.1", 0))
      let port = try #require(pair.media.localAddress?.port)
      #expect(port.isMultiple(of: 2))
      #expect(pair.control.localAddress?.port == port + 1)
      kept.append(pair)
    }
    let port = try #require(kept[0].0.localAddress?.port)
    #expect(throws: TransportError.portInUse(address: "127.0.0.1:\(port)")) {
      _ = try DatagramSocket.pair(on: endpoint("127.0.0.1", port))
    }
  }
}

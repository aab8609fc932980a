import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing
import Transports

@testable import JetStream

/// Messages in NATS as nobody publishes them who means well.
@Suite(.serialized) struct HostileMessageTests {
  private static let description = Array(
    "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
      .utf8)
  private static let packet: [UInt8] = [0, 4, 0x80, 0x60, 0, 1]

  private struct Camera {
    let server: NATSServer
    let peer: NATSPeer
    let transport: any RTPTransport
    let sink = RecordingSink()

    init(_ options: TransportOptions = TransportOptions()) async throws {
      server = try NATSServer()
      peer = try NATSPeer(port: server.port)
      try Self.create(by: peer)
      transport = try TransportCatalogue([.jetStream]).make(
        source: server.url("x"), options: options,
        on: MultiThreadedEventLoopGroup.singleton.next())
      try await transport.open(delivering: sink)
    }

    static func create(by peer: NATSPeer) throws {
      try peer.request(
        "$JS.API.STREAM.CREATE.rtp_x",
        Array(
          "{\"name\":\"rtp_x\",\"subjects\":[\"rtp.x.*\"],\"storage\":\"memory\"}".utf8))
    }
  }

  @Test func whatIsNoPacketIsLeftOutAndCounted() async throws {
    let camera = try await Camera()
    try camera.peer.request("rtp.x.video", Self.packet)
    try camera.peer.request("rtp.x.description", Self.description)
    // A length beyond the end, half a length, nothing, a length of 0, and garbage.
    for message: [UInt8] in [
      [0xFF, 0xFF, 1], [0], [], [0, 0], [UInt8](repeating: 0xA5, count: 5000),
    ] {
      try camera.peer.request("rtp.x.video", message)
    }
    try camera.peer.request("rtp.x.sound", Self.packet)
    try camera.peer.request("rtp.x.other", Self.packet)
    try camera.peer.request("rtp.x.description", Array("v=0".utf8))
    try camera.peer.request("rtp.x.description", [UInt8](repeating: 0, count: 200_000))
    try camera.peer.request(
      "rtp.x.video", Self.packet, headers: ["Nats-Msg-Id": "1", "Rtp-Piece": "99/3"])
    // A repetition, which the server leaves out.
    try camera.peer.request("rtp.x.video", Self.packet, headers: ["Nats-Msg-Id": "1"])
    try camera.peer.request("rtp.x.video", [0, 4, 0x80, 0x60, 0, 2] + Self.packet)
    let datagrams = try await camera.sink.datagrams.first(3)
    #expect(datagrams.map { Array($0.bytes.readableBytesView).last } == [1, 2, 1])
    let counters = await camera.transport.counters()
    #expect(counters.delivered == 3)
    #expect(counters[.malformed] >= 4)
    #expect(counters.empty == 1)
    camera.transport.close()
    _ = try await camera.sink.ends.first(1)
  }

  @Test func anotherDescriptionEndsTheConnectionAndTheNextOneGoesOnThere() async throws {
    let camera = try await Camera()
    try camera.peer.request("rtp.x.description", Self.description)
    try camera.peer.request("rtp.x.video", Self.packet)
    let other = Self.description + Array("m=audio 0 RTP/AVP 0\r\n".utf8)
    // Only its parameter sets are others.
    try camera.peer.request(
      "rtp.x.description",
      Self.description + Array("a=fmtp:96 sprop-parameter-sets=Z00=,aO4=\r\n".utf8))
    try camera.peer.request("rtp.x.video", Self.packet)
    _ = try await camera.sink.datagrams.first(2)
    try camera.peer.request("rtp.x.description", other)
    try camera.peer.request("rtp.x.sound", Self.packet)
    guard case .failed(let error) = try await camera.sink.ends.first(1)[0] else {
      Issue.record("it has not failed")
      return
    }
    #expect(error as? JetStreamError == .descriptionChanged)
    var options = TransportOptions()
    TransportKind.jetStream.learn(&options, await camera.transport.counters())
    let next = try TransportCatalogue([.jetStream]).make(
      source: camera.server.url("x"), options: options,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await next.open(delivering: sink)
    #expect(try await sink.datagrams.first(1)[0].track == 1)
    #expect(sink.descriptions.elements.map(\.count) == [2])
    next.close()
    _ = try await sink.ends.first(1)
  }

  private static func open(
    _ url: String, _ options: TransportOptions = TransportOptions(),
    after former: TransportCounters? = nil
  ) async throws -> (transport: any RTPTransport, sink: RecordingSink) {
    let transport = try TransportCatalogue([.jetStream]).make(
      source: url, options: options, after: former,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    return (transport, sink)
  }

  @Test func aRecordingGoesOnBehindEachOtherDescriptionUpToItsEnd() async throws {
    let camera = try await Camera()
    camera.transport.close()
    let other = Self.description + Array("m=audio 0 RTP/AVP 0\r\n".utf8)
    for description in [Self.description, other, Self.description] {
      try camera.peer.request("rtp.x.description", description)
      try camera.peer.request("rtp.x.video", Self.packet)
    }
    var former: TransportCounters?
    for tracks in [1, 2, 1] {
      let (transport, sink) = try await Self.open(
        camera.server.url("x", "?since=1h"), after: former)
      let isLast = former?[.position] == 4
      switch try await sink.ends.first(1)[0] {
      case .failed(let error): #expect(error as? JetStreamError == .descriptionChanged)
      case .ended: #expect(isLast)
      case .closed: Issue.record("it was closed")
      }
      #expect(sink.descriptions.elements.map(\.count) == [tracks])
      #expect(sink.count == 1)
      let counters = await transport.counters()
      former = former.map { counters.added(to: $0) } ?? counters
      // What comes meanwhile is none of it.
      try camera.peer.request("rtp.x.video", Self.packet)
    }
    #expect(former?[.position] == 6)
  }

  @Test func theFirstServerOfAClusterThatStartsIsAskedAgain() async throws {
    let server = try NATSServer()
    let peer = try NATSPeer(port: server.port)
    _ = try peer.request(
      "$JS.API.STREAM.CREATE.rtp_x", "{\"name\":\"rtp_x\",\"subjects\":[\"rtp.x.*\"]}")
    try peer.request("rtp.x.description", Self.description)
    try peer.request("rtp.x.video", Self.packet)
    try server.kill()
    try server.start(jetStream: false)
    try NATSPeer(port: server.port).answer("$JS.API.>", with: NATSPeer.unavailable)
    var options = TransportOptions()
    options.silence = .after(.seconds(60))
    async let opening = Self.open(server.url("x"), options)
    try NATSPeer(port: server.port).hear("$JS.API.STREAM.MSG.GET.rtp_x")
    // Now JetStream is there.
    try server.kill()
    try server.start()
    let (transport, sink) = try await opening
    _ = try await sink.datagrams.first(1)
    transport.close()
    _ = try await sink.ends.first(1)
  }

  @Test func aStreamInMemoryIsAwaitedUntilItIsPublishedAgain() async throws {
    var options = TransportOptions()
    options.silence = .after(.seconds(60))
    let camera = try await Camera(options)
    try camera.peer.request("rtp.x.description", Self.description)
    for _ in 0..<8 { try camera.peer.request("rtp.x.video", Self.packet) }
    _ = try await camera.sink.datagrams.first(8)
    try camera.server.kill()
    try camera.server.start()
    let peer = try NATSPeer(port: camera.server.port)
    // It finds nothing.
    try peer.hear("$JS.API.STREAM.INFO.rtp_x")
    try Camera.create(by: peer)
    try peer.request("rtp.x.description", Self.description)
    try peer.request("rtp.x.video", Self.packet)
    _ = try await camera.sink.datagrams.first(9)
    camera.transport.close()
    _ = try await camera.sink.ends.first(1)
  }

  private static func packet(_ source: UInt8) -> [UInt8] {
    [0, 12, 0x80, 0x60, 0, 1, 0, 0, 0, 0, 0, 0, 0, source]
  }

  @Test func theGoodbyeOfAFormerPublisherCountsAsDelivered() async throws {
    let camera = try await Camera()
    for source: UInt8 in [1, 2] {
      try camera.peer.request("rtp.x.description", Self.description)
      try camera.peer.request("rtp.x.video", Self.packet(source))
    }
    let datagrams = try await camera.sink.datagrams.first(3)
    #expect(datagrams.map { RTCPPacket.recognizes($0.bytes) } == [false, true, false])
    let counters = await camera.transport.counters()
    #expect(counters.delivered == 3)
    let bytes = datagrams.reduce(0) { $0 + $1.bytes.readableBytes }
    #expect(counters.deliveredBytes == UInt64(bytes))
    camera.transport.close()
    _ = try await camera.sink.ends.first(1)
  }

  @Test func aStreamThatTheServerLostAndGotAnewIsReceived() async throws {
    let camera = try await Camera()
    try camera.peer.request("rtp.x.description", Self.description)
    for _ in 0..<8 { try camera.peer.request("rtp.x.video", Self.packet) }
    _ = try await camera.sink.datagrams.first(8)
    let former = await camera.transport.counters()
    _ = try camera.peer.request("$JS.API.STREAM.DELETE.rtp_x", "")
    _ = try camera.peer.request(
      "$JS.API.STREAM.CREATE.rtp_x", "{\"name\":\"rtp_x\",\"subjects\":[\"rtp.x.*\"]}")
    try camera.server.kill()
    try camera.server.start()
    let peer = try NATSPeer(port: camera.server.port)
    try peer.request("rtp.x.description", Self.description)
    try peer.request("rtp.x.video", Self.packet)
    _ = try await camera.sink.datagrams.first(9)
    let counters = await camera.transport.counters()
    #expect(counters[.renewals] == 1)
    #expect(counters[.position] < former[.position])
    camera.transport.close()
    _ = try await camera.sink.ends.first(1)
    // So is it by a connection that knows only how far the former one came.
    var options = TransportOptions()
    TransportKind.jetStream.learn(&options, former)
    let next = try TransportCatalogue([.jetStream]).make(
      source: camera.server.url("x"), options: options,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await next.open(delivering: sink)
    _ = try await sink.datagrams.first(1)
    #expect(await next.counters()[.renewals] == 1)
    next.close()
    _ = try await sink.ends.first(1)
  }

  @Test func aServerThatComesBackWithoutJetStreamIsNotAskedForEver() async throws {
    var options = TransportOptions()
    options.silence = .after(.seconds(5))
    let camera = try await Camera(options)
    try camera.peer.request("rtp.x.description", Self.description)
    try camera.peer.request("rtp.x.video", Self.packet)
    _ = try await camera.sink.datagrams.first(1)
    try camera.server.kill()
    try camera.server.start(jetStream: false)
    let end = try await camera.sink.ends.first(1)
    guard case .failed(let error as JetStreamError)? = end.first else {
      Issue.record("\(end)")
      return
    }
    #expect(error.name == "no_jetstream" || error.name == "not_connected", "\(error)")
  }

  /// libnats takes the name for granted.
  @Test(arguments: ["{}", #"{"config":{}}"#, #"{"name":"a.b","config":{}}"#])
  func aConsumerWithoutANameIsRefused(answer: String) async throws {
    let server = try NATSServer(jetStream: false)
    try NATSPeer(port: server.port).answer("$JS.API.STREAM.MSG.GET.rtp_x", with: "{}")
    try NATSPeer(port: server.port).answer("$JS.API.CONSUMER.CREATE.>", with: answer)
    let error = await #expect(throws: JetStreamError.self) {
      _ = try await Self.open(server.url("x"))
    }
    #expect(error?.name == "refused")
  }

  @Test func whatTheServerAsksOfAConsumerIsAnsweredToItAlone() async throws {
    let server = try NATSServer(jetStream: false)
    try NATSPeer(port: server.port).answer("$JS.API.STREAM.MSG.GET.rtp_x", with: "{}")
    try NATSPeer(port: server.port).answer(
      "$JS.API.STREAM.INFO.rtp_x", with: #"{"state":{"last_seq":7}}"#)
    let peer = try NATSPeer(port: server.port)
    try peer.listen(to: "$JS.API.CONSUMER.CREATE.rtp_x")
    let answers = try NATSPeer(port: server.port)
    for subject in ["rtp.x.>", "$JS.FC.>"] { try answers.listen(to: subject) }
    async let opening = Self.open(server.url("x"))
    let request = try peer.next()
    let inbox = try #require(request.payload.firstMatch(of: /"deliver_subject":"([^"]+)"/)).1
    try peer.publish(request.reply, Array(#"{"name":"c"}"#.utf8))
    let message = "$JS.ACK.rtp_x.c.1.7.1.1700000000000000000.0"
    // A message that looks like a question is a message.
    try peer.publish(String(inbox), [], reply: message, status: "100 FlowControl Request")
    for reply in ["rtp.x.video", "$JS.FC.1"] {
      try peer.publish(String(inbox), [], reply: reply, status: "100 FlowControl Request")
    }
    try peer.publish(
      String(inbox), [], headers: ["Nats-Consumer-Stalled": "$JS.FC.2", "Nats-Last-Consumer": "1"],
      status: "100 Idle Heartbeat")
    // One that did not come.
    try peer.publish(
      String(inbox), [], headers: ["Nats-Last-Consumer": "2"], status: "100 Idle Heartbeat")
    #expect(try answers.next().subject == "$JS.FC.1")
    #expect(try answers.next().subject == "$JS.FC.2")
    // Another consumer brings it again.
    #expect(try peer.next().subject == "$JS.API.CONSUMER.CREATE.rtp_x")
    let (transport, sink) = try await opening
    transport.close()
    _ = try await sink.ends.first(1)
  }
}

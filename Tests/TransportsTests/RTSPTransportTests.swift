import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Sessions with servers on this machine, media in the connection.
struct RTSPTransportTests {
  @Test func framesComeInOrderBehindTheDescription() async throws {
    var script = RTSPFarEnd.Script()
    script.played = { peer in
      peer.send(frames: (0..<200).map { rtp($0, payload: 1388) })
      peer.send(frame: senderReport(), onChannel: 1)
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url) { $0.selection = .firstVideo }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let datagrams = try await sink.datagrams.first(201)
    #expect(datagrams.map(\.bytes) == (0..<200).map { rtp($0, payload: 1388) } + [senderReport()])
    #expect(
      datagrams.map(\.channel) == [Datagram.Channel](repeating: .media, count: 200) + [.control])
    #expect(zip(datagrams, datagrams.dropFirst()).allSatisfy { $0.arrival <= $1.arrival })
    #expect(sink.descriptions.elements.map { $0.map(\.encodingName) } == [["H264"]])
    #expect(!sink.completedReads.elements.isEmpty)
    let counters = await transport.counters()
    #expect(counters.delivered == 201)
    #expect(counters.carriage == .tcp)
    #expect(counters.localAddress?.hasPrefix("127.0.0.1:") == true)

    transport.sendFeedback(senderReport(ssrc: 9), track: 0)
    let feedback = try await server.frames.first(1)[0]
    #expect(feedback.channel == 1)
    #expect(feedback.bytes == senderReport(ssrc: 9))

    transport.close()
    transport.close()
    guard case .closed = try await sink.ends.first(1)[0] else {
      Issue.record("ended otherwise")
      return
    }
    #expect(try await server.requests.first(5).map(\.method).last == "TEARDOWN")
    _ = try await server.closed.first(1)
    try await server.close()
  }

  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", "127.0.0.1"), ("localhost", "::1"),
  ])
  func aServerIsFoundByAddressAndByName(host: String, address: String) async throws {
    // The name has addresses of both families, but this server has only one.
    let server = try await RTSPFarEnd(address)
    let literal = host == "::1" ? "[::1]" : host
    let description = try await RTSPTransport.describe(
      source: "rtsp://\(literal):\(server.port)/stream",
      on: MultiThreadedEventLoopGroup.singleton.next())
    #expect(description.media.map(\.kind) == [.video, .audio])
    #expect(server.requests.elements.map(\.method) == ["OPTIONS", "DESCRIBE"])
    try await server.close()
  }

  @Test(
    "what the URL says comes before what is configured",
    arguments: [
      ("", ["c", "p"]), ("u@", ["u", "p"]), ("u:@", ["u", "p"]), ("u:q@", ["u", "q"]),
    ])
  func credentials(inURL text: String, expected: [String]) throws {
    var configuration = RTSPConfiguration()
    configuration.credentials = Credentials(user: "c", password: "p")
    let transport = try RTSPTransport(
      source: "rtsp://\(text)camera/", configuration: configuration,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let credentials = try #require(transport.credentials)
    #expect([credentials.user, credentials.password] == expected)
  }

  @Test("a server that sends while it is to wait, and closes", arguments: [false, true])
  func hold(closes: Bool) async throws {
    var script = RTSPFarEnd.Script()
    script.played = { peer in
      peer.send(frames: (0..<200).map { rtp($0, payload: 1388) })
      if closes { peer.channel.close(promise: nil) }
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink { _, count in if count == 1 { transport.holdReading(true) } }
    try await transport.open(delivering: sink)
    _ = try await sink.datagrams.first(1)
    if closes { _ = try await server.closed.first(1) }
    let countWhileHeld = try await transport.eventLoop.submit {
      defer { transport.holdReading(false) }
      return sink.count
    }.get()
    #expect(countWhileHeld == 1)
    let datagrams = try await sink.datagrams.first(200)
    #expect(datagrams.map(\.bytes) == (0..<200).map { rtp($0, payload: 1388) })
    if closes {
      guard case .failed = try await sink.ends.first(1)[0] else {
        Issue.record("ended otherwise")
        return
      }
    }
    transport.close()
    try await server.close()
  }

  @Test func whatCameBeforeTheCloseIsDeliveredToASinkThatHoldsItAgainAndAgain() async throws {
    var script = RTSPFarEnd.Script()
    script.played = { peer in
      peer.send(frames: (0..<200).map { rtp($0, payload: 1388) })
      peer.channel.close(promise: nil)
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink { _, count in
      transport.holdReading(true)
      // A timer, not a task of this turn: the loop has to look at the socket in between.
      if count > 1 {
        transport.eventLoop.scheduleTask(in: .microseconds(50)) { transport.holdReading(false) }
      }
    }
    try await transport.open(delivering: sink)
    _ = try await server.closed.first(1)
    transport.eventLoop.execute { transport.holdReading(false) }
    let datagrams = try await sink.datagrams.first(200)
    #expect(datagrams.map(\.bytes) == (0..<200).map { rtp($0, payload: 1388) })
    transport.close()
    try await server.close()
  }

  @Test func framesBeforeTheAnswerToPlayAreNotLost() async throws {
    var script = RTSPFarEnd.Script()
    script.asked = { $0.send(frame: rtp(1)) }
    script.played = { $0.send(frame: rtp(2)) }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(2).map(\.bytes) == [rtp(1), rtp(2)])
    #expect(sink.descriptions.elements.count == 1)
    transport.close()
    try await server.close()
  }

  @Test func aServerThatDripsIsUnderstood() async throws {
    var script = RTSPFarEnd.Script()
    script.portion = 1
    script.played = { $0.send(frame: rtp(1)) }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(1)[0].bytes == rtp(1))
    transport.close()
    try await server.close()
  }

  /// Nothing more comes, so only the time shows that the first six bytes are no frame.
  @Test func framesBehindALyingLengthAreNotLostWhenTheServerPauses() async throws {
    var script = RTSPFarEnd.Script()
    script.played = { peer in
      var bytes = ByteBuffer(bytes: [0x24, 9, 0xFF, 0xFF, 0x80, 0x60])
      for packet in [rtp(1), rtp(2)] {
        bytes.writeMultipleIntegers(UInt8(ascii: "$"), UInt8(0), UInt16(packet.readableBytes))
        bytes.writeImmutableBuffer(packet)
      }
      peer.channel.writeAndFlush(bytes, promise: nil)
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url) { $0.silence = .seconds(60) }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let datagrams = try await sink.datagrams.first(2)
    #expect(datagrams.map(\.bytes) == [rtp(1), rtp(2)])
    try await eventually("the read is completed") {
      sink.completedReads.elements.contains(datagrams[1].arrival)
    }
    let counters = try await transport.counters { $0.skippedBytes > 0 }
    #expect(counters.skippedBytes == 6)
    transport.close()
    try await server.close()
  }

  @Test(arguments: [false, true])
  func theEndOfTheConnectionIsTheEndOfTheStream(byReset: Bool) async throws {
    var script = RTSPFarEnd.Script()
    script.played = { $0.send(frame: rtp(1)) }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.datagrams.first(1)
    if byReset { try await server.reset() } else { try await server.close() }
    guard case .failed(let error) = try await sink.ends.first(1)[0] else {
      Issue.record("ended otherwise")
      return
    }
    #expect(error as? RTSPError == .brokenOff)
    if byReset { try await server.close() }
  }

  @Test func aServerThatTearsTheSessionDownEndsTheStreamInOrder() async throws {
    var script = RTSPFarEnd.Script()
    script.played = { peer in
      peer.send(frame: rtp(1))
      peer.channel.writeAndFlush(
        ByteBuffer(string: "TEARDOWN rtsp://x/ RTSP/1.0\r\nCSeq: 4\r\n\r\n"), promise: nil)
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    guard case .ended = try await sink.ends.first(1)[0] else {
      Issue.record("ended otherwise")
      return
    }
    #expect(sink.datagrams.elements.count == 1)
    _ = try await server.closed.first(1)
    try await server.close()
  }

  @Test func aServerThatDoesNotAnswerTheEndKeepsNothingOpen() async throws {
    var script = RTSPFarEnd.Script()
    script.answer = { $0.method == "TEARDOWN" ? "" : nil }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    // The sink does not wait for the server, and the connection waits a second.
    let ends = try await transport.eventLoop.submit {
      transport.close()
      return sink.ends.elements.count
    }.get()
    #expect(ends == 1)
    _ = try await server.closed.first(1, within: .seconds(5))
    try await server.close()
  }

  @Test func whatIsRefusedThrowsAndTheSinkIsNeverCalled() async throws {
    var script = RTSPFarEnd.Script()
    script.answer = { request in
      request.method == "PLAY" ? "RTSP/1.0 453 Not Enough Bandwidth\r\nCSeq: CSEQ\r\n\r\n" : nil
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    await #expect(
      throws: RTSPError.refused(method: "PLAY", status: 453, reason: "Not Enough Bandwidth")
    ) { try await transport.open(delivering: sink) }
    transport.close()
    _ = try await server.closed.first(1)
    #expect(sink.descriptions.elements.isEmpty && sink.ends.elements.isEmpty)
    #expect(sink.completedReads.elements.isEmpty)
    try await server.close()
  }

  @Test func aPortWithoutAServerRefuses() async throws {
    let server = try await RTSPFarEnd()
    let (url, port) = (server.url, server.port)
    try await server.close()
    let transport = try RTSPTransport(url)
    await #expect(throws: TransportError.connectionRefused(address: "127.0.0.1:\(port)")) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
  }

  /// The kernel's own words are "Invalid argument".
  @Test func anAddressOfALinkNeedsTheNameOfItsInterface() async throws {
    let transport = try RTSPTransport("rtsp://[fe80::1]:9/stream")
    await #expect(throws: TransportError.linkNotNamed(address: "[fe80::1]:9")) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
  }

  @Test func aNameThatStandsForNothingIsNotResolved() async throws {
    let transport = try RTSPTransport("rtsp://no-such-host.invalid/stream")
    let error = await #expect(throws: TransportError.self) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    guard case .nameNotResolved("no-such-host.invalid", _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func closedBeforeAndWhileItOpens() async throws {
    var script = RTSPFarEnd.Script()
    script.answer = { $0.method == "DESCRIBE" ? "" : nil }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let never = try RTSPTransport(server.url)
    never.close()
    await #expect(throws: TransportError.closed) {
      try await never.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    let opening = Task { try await transport.open(delivering: sink) }
    _ = try await server.requests.first(2)
    transport.close()
    await #expect(throws: TransportError.closed) { try await opening.value }
    _ = try await server.closed.first(1)
    #expect(sink.ends.elements.isEmpty)
    try await server.close()
  }

  @Test func channelsThatNoStreamHasAreCountedAndReported() async throws {
    var script = RTSPFarEnd.Script()
    script.played = { peer in
      peer.send(frame: rtp(7), onChannel: 8)
      peer.send(frame: rtp(1))
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(1)[0].bytes == rtp(1))
    let counters = try await transport.counters { !$0.diagnostics.isEmpty }
    #expect(counters.unassigned + counters.skippedBytes > 0)
    transport.close()
    try await server.close()
  }

  @Test func allThatIsDescribedIsPlayedEachOnItsTrack() async throws {
    var script = RTSPFarEnd.Script()
    script.played = { peer in
      peer.send(frame: rtp(7, ssrc: 2), onChannel: 2)
      peer.send(frame: senderReport(ssrc: 2), onChannel: 3)
      peer.send(frame: rtp(1))
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let datagrams = try await sink.datagrams.first(3)
    let described = try #require(sink.descriptions.elements.first)
    let video = try #require(described.firstIndex { $0.kind == .video })
    let sound = try #require(described.firstIndex { $0.kind == .audio })
    #expect(described.count == 2)
    #expect(datagrams.map(\.track) == [sound, sound, video])
    #expect(datagrams.map(\.channel) == [.media, .control, .media])
    for track in [sound, video] { transport.sendFeedback(senderReport(ssrc: 9), track: track) }
    transport.sendFeedback(senderReport(ssrc: 9), track: 2)
    #expect(try await server.frames.first(2).map(\.channel) == [3, 1])
    transport.close()
    _ = try await sink.ends.first(1)
    #expect(server.frames.elements.count == 2)
    try await server.close()
  }

  @Test func streamsSetUpForTheDevicesSakeAreLetGo() async throws {
    var script = RTSPFarEnd.Script()
    script.played = { peer in
      peer.send(frame: rtp(7), onChannel: 2)
      peer.send(frame: rtp(1))
    }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let transport = try RTSPTransport(server.url) {
      $0.selection = .firstVideo
      $0.setsUpEverything = true
    }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(1)[0].bytes == rtp(1))
    #expect(await transport.counters().unwanted == 1)
    let setups = server.requests.elements.filter { $0.method == "SETUP" }
    #expect(setups.map { $0.headers["transport"]?.suffix(3) } == ["0-1", "2-3"])
    transport.close()
    try await server.close()
  }

  @Test func aPasswordIsNeverShown() throws {
    for source in [
      "rtsp://me:secret@host:99999/x", "rtps://me:secret@host/", "rtsp://me:secret@/x",
    ] {
      let error = #expect(throws: TransportError.self) {
        try TransportCatalogue.standard.make(
          source: source, on: MultiThreadedEventLoopGroup.singleton.next())
      }
      #expect(error.map { !"\($0)".contains("secret") } == true)
    }
  }

}

import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// A listener against senders on this machine.
struct UDPListenerTests {
  private func listener(
    _ listening: UDPTransport.Listening, sockets: UDPTransport.SocketConfiguration = .init()
  ) -> UDPTransport {
    UDPTransport(
      role: .listener(listening), sockets: sockets,
      on: MultiThreadedEventLoopGroup.singleton.next())
  }

  @Test(arguments: [
    (nil, "127.0.0.1"), (nil, "::1"), ("127.0.0.1", "127.0.0.1"), ("::1", "::1"),
    ("0.0.0.0", "127.0.0.1"),
  ])
  func theFirstSenderIsReceivedFromItsFirstPacketOn(host: String?, from: String) async throws {
    let transport = listener(.init(host: host, port: 0))
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let port = try #require(try await transport.localAddress()?.port)
    let sender = try await FarEnd(from)
    let stranger = try await FarEnd(from)
    let target = endpoint(from, port)
    try await stranger.send(rtp(900, ssrc: 5), to: target)
    for number in 0..<50 as Range<UInt16> { try await sender.send(rtp(number), to: target) }
    for number in 901..<910 as Range<UInt16> {
      try await stranger.send(rtp(number, ssrc: 5), to: target)
    }
    let datagrams = try await sink.datagrams.first(50)
    #expect(datagrams.map(\.bytes) == (0..<50).map { rtp($0) })
    #expect(Set(datagrams.compactMap(\.origin?.port)) == [sender.port])
    let counters = try await transport.counters { $0.foreignOrigin == 10 }
    #expect(counters.delivered == 50)
    #expect(counters.otherSender?.datagrams == 9)
    #expect(counters.otherSender?.address.hasSuffix(":\(stranger.port)") == true)
    #expect(counters.hellosSent + counters.heartbeatsSent == 0)
    transport.close()
    try await sender.close()
    try await stranger.close()
  }

  @Test func rtcpOnTheNextPortIsControlAndFeedbackGoesToTheSendersNextPort() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let local = try #require(try await transport.localAddress())
    let control = try local.with(port: #require(local.port) + 1)
    let (media, report) = try await adjacentFarEnds()
    try await media.send(rtp(1), rtp(2), to: local)
    _ = try await sink.datagrams.first(2)
    let stranger = try await FarEnd("127.0.0.2")
    try await stranger.send(senderReport(), to: control)
    try await transport.counters { $0.foreignOrigin == 1 }
    try await stranger.close()
    try await report.send(senderReport(), to: control)
    #expect(try await sink.datagrams.first(3).map(\.channel) == [.media, .media, .control])
    transport.sendFeedback(senderReport(ssrc: 77), track: 0)
    let feedback = try await report.received.first(1)[0]
    #expect(feedback.bytes == senderReport(ssrc: 77))
    #expect(feedback.origin == control)
    transport.close()
    try await media.close()
    try await report.close()
  }

  @Test func aFloodAtThePortOfRTCPIsNoLossOfMedia() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let local = try #require(try await transport.localAddress())
    let control = try local.with(port: #require(local.port) + 1)
    let (media, stranger) = (try await FarEnd(), try await FarEnd("127.0.0.2"))
    try await media.send(rtp(1), rtp(2), to: local)
    _ = try await sink.datagrams.first(2)
    let counters = try await eventualValue(of: "a full socket", within: .seconds(20)) {
      try await stranger.sendBurst(of: 1000, to: control)
      let counters = await transport.counters()
      return counters.kernelDroppedRTCP > 0 ? counters : nil
    }
    #expect(counters.kernelDropped == 0)
    #expect(counters.lostLocally == 0)
    transport.close()
    #expect(await transport.counters().kernelDroppedRTCP >= counters.kernelDroppedRTCP)
    try await media.close()
    try await stranger.close()
  }

  /// Like GStreamer, whose reports come from a separate socket.
  @Test func feedbackGoesToWhereReportsComeFrom() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let local = try #require(try await transport.localAddress())
    let control = try local.with(port: #require(local.port) + 1)
    let (media, report) = (try await FarEnd(), try await FarEnd())
    try await media.send(rtp(1), rtp(2), to: local)
    _ = try await sink.datagrams.first(2)
    try await report.send(senderReport(), to: control)
    _ = try await sink.datagrams.first(3)
    transport.sendFeedback(senderReport(ssrc: 77), track: 0)
    #expect(try await report.received.first(1)[0].bytes == senderReport(ssrc: 77))
    transport.close()
    try await media.close()
    try await report.close()
  }

  /// The port of RTCP is read as soon as something comes, that of media seldom.
  @Test func whatGathersComesBeforeTheRTCPThatWasSentBehindIt() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    transport.gather(for: .seconds(20))
    let local = try #require(try await transport.localAddress())
    let (media, report) = try await adjacentFarEnds()
    // The pace of a camera, for longer than the rate is measured.
    for number in 0..<120 as Range<UInt16> {
      try await media.send(rtp(number), to: local)
      try await Task.sleep(for: .milliseconds(10))
    }
    try await report.send(
      senderReport(), to: local.with(port: #require(local.port) + 1))
    let datagrams = try await sink.datagrams.first(121)
    #expect(datagrams.dropLast().allSatisfy { $0.channel == .media })
    #expect(datagrams.last?.channel == .control)
    transport.close()
    try await media.close()
    try await report.close()
  }

  /// Where one port in thirty is taken, as on a busy machine.
  @Test func aPortOfTheKernelsChoiceHasAFreeOneForRTCPAboveIt() async throws {
    let host = "127.0.0.42"
    let others = try (0..<900).map { _ in try DatagramSocket.bound(to: endpoint(host, 0)) }
    for _ in 0..<300 {
      let transport = listener(.init(host: host, port: 0))
      _ = try await transport.open(delivering: RecordingSink())
      #expect(await transport.counters().diagnostics == [])
      transport.close()
    }
    withExtendedLifetime(others) {}
  }

  @Test func aPortForRTCPThatIsTakenIsTold() async throws {
    let (media, taken) = try await adjacentFarEnds("127.0.0.43")
    try await media.close()
    let sink = RecordingSink()
    let transport = listener(.init(host: "127.0.0.43", port: media.port))
    _ = try await transport.open(delivering: sink)
    let words = await transport.counters().diagnostics.map(\.words)
    #expect(
      words == [
        "port \(taken.port) is taken, so the sender's RTCP is missed: its clock, and its goodbye"
      ])
    transport.close()
    try await taken.close()
  }

  @Test("correction packets are taken from the media's host alone, and once there is media")
  func correctionPorts() async throws {
    var listening = UDPTransport.Listening(host: "127.0.0.1", port: 0)
    listening.takesCorrection = true
    let transport = listener(listening)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let local = try #require(try await transport.localAddress())
    let columns = try local.with(port: #require(local.port) + 2)
    let rows = try local.with(port: #require(local.port) + 4)
    let (media, correction) = (try await FarEnd(), try await FarEnd())
    let stranger = try await FarEnd("127.0.0.2")
    try await correction.send(rtp(70), to: rows)
    try await transport.counters { $0.foreignOrigin == 1 }
    try await media.send(rtp(1), rtp(2), to: local)
    _ = try await sink.datagrams.first(2)
    try await stranger.send(rtp(71), to: columns)
    try await transport.counters { $0.foreignOrigin == 2 }
    try await correction.send(rtp(72), to: columns)
    _ = try await sink.datagrams.first(3)
    try await correction.send(rtp(73), to: rows)
    let datagrams = try await sink.datagrams.first(4)
    #expect(datagrams.map(\.channel) == [.media, .media, .correction, .correction])
    #expect(datagrams.map(\.bytes) == [1, 2, 72, 73].map { rtp($0) })
    transport.close()
    try await media.close()
    try await correction.close()
    try await stranger.close()
  }

  @Test("retransmissions are taken from the media's host alone, and once there is media")
  func retransmissionPort() async throws {
    // An address that no other test takes ports of.
    let host = "127.0.0.41"
    let occupant = listener(.init(host: host, port: 0))
    _ = try await occupant.open(delivering: RecordingSink())
    let port = try #require(try await occupant.localAddress()?.port)
    var listening = UDPTransport.Listening(host: host, port: 0)
    listening.retransmissionPort = port
    await #expect(throws: TransportError.self) {
      try await self.listener(listening).open(delivering: RecordingSink())
    }
    // What holds a port everywhere holds it here too.
    let sink = RecordingSink()
    var opened: UDPTransport?
    for free in port - 100..<port where opened == nil {
      listening.retransmissionPort = free
      let candidate = listener(listening)
      if (try? await candidate.open(delivering: sink)) != nil { opened = candidate }
    }
    let transport = try #require(opened)
    let local = try #require(try await transport.localAddress())
    let free = try #require(listening.retransmissionPort)
    let again = local.with(port: free)
    let (media, other) = (try await FarEnd(), try await FarEnd())
    let stranger = try await FarEnd("127.0.0.2")
    try await other.send(rtp(70), to: again)
    try await transport.counters { $0.foreignOrigin == 1 }
    try await media.send(rtp(1), rtp(2), to: local)
    _ = try await sink.datagrams.first(2)
    try await stranger.send(rtp(71), to: again)
    try await transport.counters { $0.foreignOrigin == 2 }
    try await other.send(rtp(72), to: again)
    let datagrams = try await sink.datagrams.first(3)
    #expect(datagrams.map(\.channel) == [.media, .media, .retransmission])
    #expect(datagrams.map(\.bytes) == [1, 2, 72].map { rtp($0) })
    transport.close()
    occupant.close()
    for end in [media, other, stranger] { try await end.close() }
  }

  @Test("a port for correction packets that is taken is said")
  func takenCorrectionPort() async throws {
    let occupant = listener(.init(host: "127.0.0.1", port: 0))
    _ = try await occupant.open(delivering: RecordingSink())
    let taken = try #require(try await occupant.localAddress()?.port)
    var listening = UDPTransport.Listening(host: "127.0.0.1", port: taken - 2)
    listening.takesCorrection = true
    let transport = listener(listening)
    await #expect(throws: TransportError.self) {
      _ = try await transport.open(delivering: RecordingSink())
    }
    occupant.close()
  }

  @Test func rtcpOnTheMediaPortIsAnsweredThere() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let local = try #require(try await transport.localAddress())
    let sender = try await FarEnd()
    try await sender.send(rtp(1), rtp(2), senderReport(), to: local)
    #expect(try await sink.datagrams.first(3).map(\.channel) == [.media, .media, .media])
    transport.sendFeedback(senderReport(ssrc: 77), track: 0)
    let feedback = try await sender.received.first(1)[0]
    #expect(feedback.origin == local)
    transport.close()
    try await sender.close()
  }

  /// Two far ends on neighbouring ports, as FFmpeg and GStreamer send media and RTCP.
  private func adjacentFarEnds(_ host: String = "127.0.0.1") async throws -> (FarEnd, FarEnd) {
    for _ in 0..<100 {
      let first = try await FarEnd(host)
      if let second = try? await FarEnd(host, port: first.port + 1) { return (first, second) }
      try await first.close()
    }
    throw TransportError.portInUse(address: "every port that was tried")
  }

  @Test func aTakenControlPortIsNoReasonToFail() async throws {
    // An address that no other test takes ports of, so that the one given up stays free.
    let (media, control) = try await adjacentFarEnds("127.0.0.4")
    let port = media.port
    try await media.close()
    let transport = listener(.init(host: "127.0.0.4", port: port))
    _ = try await transport.open(delivering: RecordingSink())
    transport.close()
    try await control.close()
  }

  @Test func aTakenPortIsNamed() async throws {
    let other = try await FarEnd()
    let transport = listener(.init(host: "127.0.0.1", port: other.port))
    await #expect(throws: TransportError.portInUse(address: "127.0.0.1:\(other.port)")) {
      try await transport.open(delivering: RecordingSink())
    }
    try await other.close()
  }

  @Test func whatKeepsAListenerFromOpeningIsNamed() async throws {
    let sender = await #expect(throws: TransportError.self) {
      try await listener(.init(host: "203.0.113.77", port: 5004)).open(delivering: RecordingSink())
    }
    #expect(sender == .addressOfSender(address: "203.0.113.77:5004", port: 5004))
    #expect(sender?.description.contains("write rtp://:5004, or udp://203.0.113.77:5004") == true)
    var sockets = UDPTransport.SocketConfiguration()
    sockets.bind = UDPTransport.LocalAddress(host: "203.0.113.77", port: 0)
    await #expect(throws: TransportError.addressNotAvailable(address: "203.0.113.77:0")) {
      try await listener(.init(port: 5004), sockets: sockets).open(delivering: RecordingSink())
    }
    sockets.bind = nil
    sockets.interface = "nowhere0"
    await #expect(throws: TransportError.noSuchInterface(name: "nowhere0")) {
      try await listener(.init(host: "239.1.2.3", port: 0), sockets: sockets)
        .open(delivering: RecordingSink())
    }
    let error = await #expect(throws: TransportError.self) {
      try await listener(.init(host: "no-such-host.invalid", port: 0))
        .open(delivering: RecordingSink())
    }
    guard case .nameNotResolved(host: "no-such-host.invalid", _) = error else {
      // Without any name server the resolver may take its whole time.
      #expect(error == .nameResolutionTimedOut(host: "no-such-host.invalid", seconds: 10))
      return
    }
  }

  @Test func anAddressBehindANATFallsBackToEveryAddress() async throws {
    var listening = UDPTransport.Listening(host: "203.0.113.77", port: 0)
    listening.fallsBackToAnyAddress = true
    let transport = listener(listening)
    _ = try await transport.open(delivering: RecordingSink())
    #expect(try await transport.localAddress()?.ipAddress == "0.0.0.0")
    transport.close()
  }

  // MARK: The contract

  @Test func closingFromAnyThreadAnyNumberOfTimesEndsOnce() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let local = try #require(try await transport.localAddress())
    let sender = try await FarEnd()
    try await sender.send(rtp(1), rtp(2), to: local)
    _ = try await sink.datagrams.first(2)
    await withTaskGroup { group in
      for _ in 0..<20 { group.addTask { transport.close() } }
    }
    _ = try await sink.ends.first(1)
    try await sender.send(rtp(3), to: local)
    try await transport.eventLoop.submit {}.get()
    #expect(sink.datagrams.elements.count == 2)
    #expect(await transport.counters().delivered == 2)
    try await sender.close()
  }

  @Test func aSinkMayCloseTheTransportWhileItIsCalled() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    let sink = RecordingSink { _, _ in transport.close() }
    _ = try await transport.open(delivering: sink)
    let local = try #require(try await transport.localAddress())
    let sender = try await FarEnd()
    for number in 0..<100 as Range<UInt16> { try await sender.send(rtp(number), to: local) }
    _ = try await sink.ends.first(1)
    #expect(sink.datagrams.elements.count == 1)
    try await sender.close()
  }

  @Test func aTransportThatIsClosedBeforeItOpensDoesNotOpen() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    transport.close()
    let sink = RecordingSink()
    await #expect(throws: TransportError.closed) { try await transport.open(delivering: sink) }
    #expect(sink.ends.elements.isEmpty)
  }

  @Test func aTransportThatIsLetGoOfIsClosed() async throws {
    let sink = RecordingSink()
    try await {
      let transport = listener(.init(host: "127.0.0.1", port: 0))
      _ = try await transport.open(delivering: sink)
    }()
    _ = try await sink.ends.first(1)
  }

  @Test func aTransportOpensOnce() async throws {
    let transport = listener(.init(host: "127.0.0.1", port: 0))
    _ = try await transport.open(delivering: RecordingSink())
    await #expect(throws: TransportError.alreadyOpened) {
      try await transport.open(delivering: RecordingSink())
    }
    transport.close()
  }

  @Test func portsAreFreeAgainAfterTheEnd() async throws {
    var port = 0
    var closed: [UDPTransport] = []
    for _ in 0..<50 {
      let transport = listener(.init(host: "127.0.0.6", port: port))
      let sink = RecordingSink()
      _ = try await transport.open(delivering: sink)
      port = try #require(try await transport.localAddress()?.port)
      transport.close()
      _ = try await sink.ends.first(1)
      closed.append(transport)
      // The sink gets the end in the turn of the loop in which the sockets close.
      try await transport.eventLoop.submit {}.get()
    }
  }
}

/// Closes its transport at the first datagram.
extension UDPListenerTests {
  @Test func severalMediaAreListenedForEachOnItsTrack() async throws {
    let ports = try (0..<2).map { _ in
      try #require(
        DatagramSocket.pair(on: endpoint("127.0.0.1", 0)).media.localAddress?.port)
    }
    let transport = UDPTransport(
      role: .listeners(
        ports.map { .init(host: "127.0.0.1", port: $0) }, required: 1),
      descriptions: [MediaDescription(kind: .audio), MediaDescription(kind: .video)],
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(sink.descriptions.elements.first?.map(\.kind) == [.audio, .video])
    let (sound, video) = (try await FarEnd(), try await FarEnd())
    try await video.send(rtp(1), rtp(2), to: endpoint("127.0.0.1", ports[1]))
    _ = try await sink.datagrams.first(2)
    try await sound.send(
      rtp(7, ssrc: 2), rtp(8, ssrc: 2), to: endpoint("127.0.0.1", ports[0]))
    let datagrams = try await sink.datagrams.first(4)
    #expect(datagrams.map(\.track) == [1, 1, 0, 0])
    #expect(datagrams.map(\.bytes) == [rtp(1), rtp(2), rtp(7, ssrc: 2), rtp(8, ssrc: 2)])
    #expect(zip(datagrams, datagrams.dropFirst()).allSatisfy { $0.arrival <= $1.arrival })
    let counters = await transport.counters()
    #expect(counters.delivered == 4)
    #expect(counters.localAddress?.hasSuffix(":\(ports[1])") == true)
    transport.close()
    _ = try await sink.ends.first(1)
    for end in [sound, video] { try await end.close() }
  }

  @Test("what is said of several media stands in the order in which it arose")
  func orderOfDiagnostics() async throws {
    let ports = try (0..<2).map { _ in
      try #require(DatagramSocket.pair(on: endpoint("127.0.0.1", 0)).media.localAddress?.port)
    }
    let transport = UDPTransport(
      role: .listeners(ports.map { .init(host: "127.0.0.1", port: $0) }, required: 0),
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let ends = [try await FarEnd(), try await FarEnd()]
    // The packets behind each say that it has been seen, and nobody asks before the last.
    for (track, start) in ["0000000167", "ffd8ffe0"].enumerated() {
      let target = endpoint("127.0.0.1", ports[track])
      try await ends[track].send(ByteBuffer(bytes: unhex(start)), to: target)
      try await ends[track].send(rtp(1), rtp(2), to: target)
      _ = try await sink.datagrams.first(2 * (track + 1))
    }
    let words = await transport.counters().diagnostics.map(\.words)
    #expect(words.count == 2)
    #expect(words.first?.contains("elementary stream") == true, "\(words)")
    transport.close()
    for end in ends { try await end.close() }
  }

  /// As gateways of WebRTC write it: all media on one port.
  @Test func mediaThatShareAPortAreAllDescribed() async throws {
    let port = try #require(
      DatagramSocket.pair(on: endpoint("127.0.0.1", 0)).media.localAddress?.port)
    let folder = try TemporaryFolder()
    try Data(
      """
      v=0
      c=IN IP4 127.0.0.1
      m=audio \(port) RTP/AVP 111
      a=rtpmap:111 opus/48000/2
      m=video \(port) RTP/AVP 96
      a=rtpmap:96 H264/90000

      """.utf8
    ).write(to: folder.url("all.sdp"))
    var options = TransportOptions()
    options.media.encodings = ["H264"]
    let transport = try TransportCatalogue.standard.make(
      source: folder.url("all.sdp").path, options: options,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(sink.descriptions.elements.first?.map(\.encodingName) == ["H264", "opus"])
    let (media, report) = try await adjacentFarEnds()
    let local = endpoint("127.0.0.1", port)
    try await media.send(rtp(1), rtp(2), to: local)
    #expect(try await sink.datagrams.first(2).map(\.track) == [0, 0])
    // Reports on the sound go where those on the video do.
    transport.sendFeedback(senderReport(ssrc: 77), track: 1)
    #expect(try await report.received.first(1)[0].bytes == senderReport(ssrc: 77))
    transport.close()
    for end in [media, report] { try await end.close() }
  }

  @Test func aPortThatIsTakenCostsItsTrackAlone() async throws {
    let taken = try await FarEnd()
    let transport = UDPTransport(
      role: .listeners(
        [.init(host: "127.0.0.1", port: taken.port), .init(host: "127.0.0.1", port: 0)],
        required: 1), on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(await transport.counters().diagnostics.contains { $0.words.hasPrefix("stream 0 ") })
    transport.close()
    _ = try await sink.ends.first(1)
    let without = UDPTransport(
      role: .listeners(
        [.init(host: "127.0.0.1", port: taken.port), .init(host: "127.0.0.1", port: 0)],
        required: 0), on: MultiThreadedEventLoopGroup.singleton.next())
    await #expect(throws: TransportError.self) { try await without.open(delivering: sink) }
    try await taken.close()
  }

  /// With `--bind`, the ports keep the distances that they have in the description.
  @Test(arguments: [1, -1])
  func aPortThatCannotExistCostsItsTrackAlone(direction: Int) async throws {
    // An address that no other test takes ports of.
    let host = "127.0.0.43"
    let probe = try await FarEnd(host)
    let port = probe.port
    try await probe.close()
    var sockets = UDPTransport.SocketConfiguration()
    sockets.bind = UDPTransport.LocalAddress(host: host, port: port)
    let impossible = direction > 0 ? 65_536 : -1
    let first = direction > 0 ? 5004 : 65_000
    let transport = UDPTransport(
      role: .listeners(
        [.init(port: first), .init(port: first + impossible - port)], required: 0),
      sockets: sockets, on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let counters = await transport.counters()
    #expect(counters.localAddress == "\(host):\(port)")
    #expect(
      counters.diagnostics.map(\.words) == [
        "stream 1 is not received: "
          + TransportError.addressNotAvailable(address: "port \(impossible)").description
      ])
    transport.close()
    _ = try await sink.ends.first(1)
  }

  @Test(arguments: [
    UDPTransport.Role.listener(.init(port: 5004)), .client(host: "127.0.0.1", port: 5004),
    .listeners([.init(port: 5004), .init(port: 5006)], required: 0),
    .listener(.init(host: "239.1.2.3", port: 70_000)),
  ])
  func aPortThatCannotExistIsNamed(role: UDPTransport.Role) async throws {
    var sockets = UDPTransport.SocketConfiguration()
    sockets.bind = UDPTransport.LocalAddress(host: "127.0.0.1", port: 70_000)
    let transport = UDPTransport(
      role: role, sockets: sockets, on: MultiThreadedEventLoopGroup.singleton.next())
    await #expect(throws: TransportError.addressNotAvailable(address: "port 70000")) {
      try await transport.open(delivering: RecordingSink())
    }
  }

  /// Beginnings, in hexadecimal, and a word of what is said about them.
  private static let foreign: [(start: String, words: String)] = [
    ("47" + String(repeating: "ff", count: 187) + "47", "MPEG-TS"),
    ("0000000167", "elementary stream"), ("000000186674797069736f6d", "MP4"),
    ("ffd8ffe0", "JPEG"), ("000100002112a442", "STUN"), ("68656c6c6f", "text"),
    ("16fefd00", "DTLS"), ("c1c2c3", "is not RTP"),
  ]

  @Test("what comes without RTP is said for what it is", arguments: foreign)
  func foreignContent(_ content: (start: String, words: String)) async throws {
    let (bytes, words) = (unhex(content.start), content.words)
    let transport = UDPTransport(
      role: .listener(.init(host: "127.0.0.1", port: 0)),
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let address = try #require(await transport.localAddress())
    let sender = try await FarEnd()
    for _ in 0..<3 { try await sender.send(ByteBuffer(bytes: bytes), to: address) }
    let counters = try await transport.counters { $0.notRTP == 3 }
    #expect(counters.foreignOrigin == 0)
    #expect(counters.diagnostics.count == 1)
    #expect(counters.diagnostics[0].words.contains(words))
    // Once there is a source, what others send concerns nobody.
    try await sender.send(rtp(1), rtp(2), to: address)
    _ = try await sink.datagrams.first(2)
    let stranger = try await FarEnd()
    try await stranger.send(ByteBuffer(bytes: bytes), to: address)
    #expect(try await transport.counters { $0.foreignOrigin == 1 }.notRTP == 3)
    transport.close()
    for end in [sender, stranger] { try await end.close() }
  }

  @Test(arguments: [true, false])
  func theFilterOfADescriptionIsKept(isExcluding: Bool) async throws {
    let named = [try await FarEnd("127.0.0.2"), try await FarEnd("127.0.0.3")]
    let other = try await FarEnd("127.0.0.4")
    var listening = UDPTransport.Listening(host: "127.0.0.1", port: 0)
    let hosts = ["127.0.0.2", "127.0.0.3"]
    listening.senders = isExcluding ? .allBut(hosts) : .only(hosts)
    let transport = UDPTransport(
      role: .listener(listening), on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let address = try #require(await transport.localAddress())
    let (refused, allowed) = isExcluding ? (named, [other]) : ([other], named)
    for end in refused { try await end.send(rtp(1), rtp(2), to: address) }
    try await transport.counters { $0.foreignOrigin == 2 * UInt64(refused.count) }
    try await allowed.last?.send(rtp(3), rtp(4), to: address)
    #expect(try await sink.datagrams.first(2).map(\.bytes) == [rtp(3), rtp(4)])
    transport.close()
    for end in named + [other] { try await end.close() }
  }
}

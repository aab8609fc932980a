import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import RTPSend

/// A server on loopback, and clients that are slow, silent or hostile.
@Suite(.serialized)
struct RTSPServingTests {
  func stream(
    _ name: String, _ recipe: SourceRecipe, speed: Double = 1, loops: Bool = false
  ) throws -> ServedStream {
    var feed = PacketFeed.Configuration(
      recipe: recipe,
      stream: RTPStream.Configuration(ssrc: 5, initialSequence: 1, initialTimestamp: 0))
    if loops { feed.repetitions = nil }
    var sending = SenderConfiguration(feed: feed, destination: .listen(host: "", port: 0))
    sending.pacing = .mediaTime(speed: speed)
    return ServedStream(name: name, try content(sending, recipe))
  }

  func content(
    _ sending: SenderConfiguration, _ recipe: SourceRecipe
  ) throws -> ServedStream.Content {
    ServedStream.Content(
      sending,
      SessionDescription(
        try StreamDescription(of: recipe), payloadType: 96, packetization: .nonInterleaved,
        address: try SocketAddress(ipAddress: "0.0.0.0", port: 0), multiplexesRTCP: false))
  }

  var pattern: SourceRecipe {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height) = (256, 144)
    return .pattern(pattern)
  }

  func serve(
    _ streams: [ServedStream], _ events: Record<SenderEvent> = Record(),
    limits: RTSPServerConfiguration.Limits = RTSPServerConfiguration.Limits()
  ) async throws -> (Sender, String) {
    var configuration = RTSPServerConfiguration(streams: streams, host: "127.0.0.1", port: 0)
    configuration.limits = limits
    let sender = try await Sender.serve(configuration) { events.append($0) }
    return (sender, "rtsp://\(sender.localAddress.hostAndPort)/")
  }

  /// Changes how the pictures of a stream are sent.
  static func change(
    _ stream: inout ServedStream, _ change: (inout PacketFeed.Configuration) -> Void
  ) throws {
    guard case .video(var feed) = try #require(stream.content).sending.tracks[0].media else {
      return
    }
    change(&feed)
    stream.content?.sending.tracks[0].media = .video(feed)
  }

  /// The packets before and behind each gap.
  private static func gaps(in packets: [RTPPacket]) -> [(RTPPacket, RTPPacket)] {
    zip(packets, packets.dropFirst()).filter { $0.sequenceNumber.next != $1.sequenceNumber }
  }

  @Test func aSlowReaderHurtsNobodyAndGoesOnWithAKeyPicture() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.h264")
    // Every fifth picture is a key picture; without loss, they are large.
    try FFmpeg.makeClip(
      file, ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", "-g", "5"])
    let events = Record<SenderEvent>()
    // As much a second as a machine can pass on that has other things to do as well.
    let (sender, base) = try await serve(
      [try stream("live", .file(path: file.path), speed: 4, loops: true)], events)
    let slow = try await Viewer(sender.localAddress, receiveBuffer: 16 << 10)
    try await slow.playWithoutReading(base + "live")
    let fast = try await Viewer(sender.localAddress)
    _ = try await fast.play(base + "live")
    try await eventually("the slow one is too slow", within: .seconds(60)) {
      events.elements.contains { if case .clientTooSlow = $0 { true } else { false } }
    }
    try await slow.setReading(true)
    // What the sockets hold comes before the gap.
    var seen = 0
    try await eventually("the slow one goes on", within: .seconds(60)) {
      guard slow.count > seen + 1 << 20 else { return false }
      seen = slow.count
      return try !Self.gaps(in: slow.packets()).isEmpty
    }
    sender.stop()
    let report = try await withDeadline { try await sender.finished() }
    #expect(report.skippedUnits > 0)
    #expect(report.clients == 2)

    for (last, next) in Self.gaps(in: try slow.packets()) {
      // Whole pictures are left out, up to the SPS of a key picture.
      #expect(last.marker)
      let type = next.payload.getInteger(at: next.payload.readerIndex, as: UInt8.self) ?? 0
      #expect([7, 24].contains(type & 0x1F), "\(type)")
    }
    let all = try fast.packets()
    #expect(!all.isEmpty)
    #expect(Self.gaps(in: all).isEmpty)
    await slow.close()
    await fast.close()
  }

  @Test func aSlowReaderOfAFileMissesNothing() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.h264")
    try FFmpeg.makeClip(
      file, frames: 300, ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", "-g", "5"])
    var film = try stream("film", .file(path: file.path), speed: 1000)
    film.survey = try FileSurvey(ofFile: file.path, framesPerSecond: nil)
    film.keepsNumbers = true
    let (sender, base) = try await serve([film])
    let client = try await Viewer(sender.localAddress, receiveBuffer: 16 << 10)
    try await client.playWithoutReading(base + "film")
    let goodbye: [UInt8] = [0x81, 203, 0, 1, 0, 0, 0, 5]
    // Another reader sees all of it meanwhile.
    let fast = try await Viewer(sender.localAddress)
    _ = try await fast.play(base + "film")
    try await eventually("the other's goodbye", within: .seconds(60)) {
      fast.bytes.suffix(8) == goodbye[...]
    }
    #expect(client.count < fast.count)
    try await client.setReading(true)
    try await eventually("the goodbye", within: .seconds(60)) {
      client.bytes.suffix(8) == goodbye[...]
    }
    await fast.close()
    let packets = try client.packets()
    #expect(packets.count(where: \.marker) == 300)
    #expect(Self.gaps(in: packets).isEmpty)
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await client.close()
  }

  @Test func newcomersSeeAPictureAtOnceAndTheSamePackets() async throws {
    let (sender, base) = try await serve([try stream("live", pattern)])
    let first = try await Viewer(sender.localAddress)
    _ = try await first.play(base + "live")
    try await eventually { try first.packets().count(where: \.marker) > 10 }
    let second = try await Viewer(sender.localAddress)
    let setUp = try await second.ask("SETUP", base + "live", ["Transport: RTP/AVP/TCP;unicast"])
    let id = Conversation.header("Session", in: setUp).map { String($0.prefix(16)) } ?? ""
    let played = try await second.ask("PLAY", base + "live", ["Session: \(id)"])
    try await eventually { try second.packets().count(where: \.marker) > 5 }
    let packets = try second.packets()
    let begin = try #require(packets.first)
    let sequence = begin.sequenceNumber.rawValue
    #expect(played.contains(";seq=\(sequence);rtptime=\(begin.timestamp)\r\n"), "\(played)")
    // A report comes before the first frame.
    let text = second.bytes
    let end = try #require(text.ranges(of: Array("\r\n\r\n".utf8)).last)
    #expect(text[end.upperBound...].prefix(2) == [0x24, 1])
    #expect(text[end.upperBound...].dropFirst(5).first == 200)
    try await eventually {
      try first.packets().last.map { $0.sequenceNumber.rawValue > sequence } ?? false
    }
    let same = try first.packets().first { $0.sequenceNumber == begin.sequenceNumber }
    #expect(same?.bytes == begin.bytes)
    sender.stop()
    let report = try await withDeadline { try await sender.finished() }
    #expect(report.clients == 2)
    await first.close()
    await second.close()
  }

  @Test func hostileClientsLeaveTheOthersAlone() async throws {
    let (sender, base) = try await serve([try stream("live", pattern)])
    let good = try await Viewer(sender.localAddress)
    _ = try await good.play(base + "live")
    var hostile: [Viewer] = []
    for index in 0..<18 {
      let client = try await Viewer(sender.localAddress, receiveBuffer: 16 << 10)
      hostile.append(client)
      switch index % 6 {
      case 0: break
      case 1: client.send([0x24, 0, 0xFF, 0xFF])
      case 2: client.send("OPTIONS * RTSP/1.0\r\nX: ")
      case 3:
        for _ in 0..<1000 {
          client.send(
            "SETUP \(base)live RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;unicast\r\n\r\n")
        }
      case 4:
        // Requests without end from somebody who reads no answers.
        try await client.setReading(false)
        for _ in 0..<10 {
          client.send(String(repeating: "OPTIONS * RTSP/1.0\r\n\r\n", count: 1000))
        }
      default: client.send(Array(repeating: UInt8(index), count: 100_000))
      }
    }
    let count = try good.packets().count
    try await eventually("the good one is served", within: .seconds(60)) {
      try good.packets().count > count + 60
    }
    // What is no request ends its connection at once.
    try await eventually {
      hostile.enumerated().allSatisfy { $0.offset % 6 != 5 || !$0.element.isOpen }
    }
    for client in hostile { await client.close() }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await good.close()
  }

  @Test func whatIsRefusedTakesNoPlaceOfOthers() async throws {
    var limits = RTSPServerConfiguration.Limits()
    limits.sessions = 20
    let (sender, base) = try await serve([try stream("live", pattern)], limits: limits)
    let first = try await Viewer(sender.localAddress)
    let transport = "RTP/AVP;unicast;client_port=40000-40001"
    let setUp = try await first.ask("SETUP", base + "live", ["Transport: \(transport)"])
    #expect(Conversation.status(setUp) == 200)
    // More than all places that there are, for ports that are taken.
    let second = try await Viewer(sender.localAddress)
    let count = limits.sessions + 1
    for _ in 0..<count {
      second.send("SETUP \(base)live RTSP/1.0\r\nCSeq: 1\r\nTransport: \(transport)\r\n\r\n")
    }
    try await eventually("all are refused") {
      String(decoding: second.bytes, as: UTF8.self).ranges(of: "RTSP/1.0 461").count == count
    }
    _ = try await Viewer(sender.localAddress).play(base + "live")
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await first.close()
    await second.close()
  }

  @Test func nobodyAloneKeepsAllOthersOut() async throws {
    var limits = RTSPServerConfiguration.Limits()
    limits.connectionsOfOneAddress = 20
    let (sender, base) = try await serve([try stream("live", pattern)], limits: limits)
    var idle: [Viewer] = []
    for _ in 0...limits.connectionsOfOneAddress {
      idle.append(try await Viewer(sender.localAddress))
    }
    try await eventually("the last is not served") { idle.last?.isOpen == false }
    // It is free again once one has gone.
    await idle.removeFirst().close()
    try await eventually {
      let client = try await Viewer(sender.localAddress)
      defer { idle.append(client) }
      return await client.isServed(base + "live")
    }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    for client in idle { await client.close() }
  }

  @Test func whatEndsAnywhereLeavesNothingBehind() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.h264")
    try FFmpeg.makeClip(file, ["-c:v", "libx264"])
    var film = try stream("film", .file(path: file.path))
    film.survey = try FileSurvey(ofFile: file.path, framesPerSecond: nil)
    // If one stayed, the next could not come.
    var limits = RTSPServerConfiguration.Limits()
    (limits.connections, limits.sessions) = (1, 1)
    let (sender, base) = try await serve([try stream("live", pattern), film], limits: limits)
    func admitted() async throws -> Viewer {
      try await eventualValue(of: "a place") {
        let client = try await Viewer(sender.localAddress)
        if await client.isServed(base + "live") { return client }
        await client.close()
        return nil
      }
    }
    let sockets = (media: try await Client(), control: try await Client())
    let ports = "\(sockets.media.address.port ?? 0)-\(sockets.control.address.port ?? 0)"
    for name in ["live", "film"] {
      let url = base + name
      for transport in ["RTP/AVP/TCP;unicast", "RTP/AVP;unicast;client_port=\(ports)"] {
        let setUp = "SETUP \(url) RTSP/1.0\r\nCSeq: 1\r\nTransport: \(transport)\r\n\r\n"
        let play = "PLAY \(url) RTSP/1.0\r\nCSeq: 2\r\n\r\n"
        let text = Array((setUp + play + "$\u{1}\u{0}\u{8}\u{0}").utf8)
        for length in stride(from: 1, through: text.count, by: 7) + [text.count] {
          let client = try await admitted()
          client.send(Array(text.prefix(length)))
          await client.close()
        }
      }
    }
    let last = try await admitted()
    _ = try await last.play(base + "live")
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await last.close()
    await sockets.media.close()
    await sockets.control.close()
  }

  @Test func reportsOfStrangersAreNobodys() async throws {
    var live = try stream("live", pattern)
    try Self.change(&live) { $0.feedback.requests = [.nack, .pli] }
    let (sender, base) = try await serve([live])
    let (media, stranger) = (try await Client(), try await Client())
    let port = media.address.port ?? 0
    let viewer = try await Viewer(sender.localAddress)
    let setUp = try await viewer.ask(
      "SETUP", base + "live", ["Transport: RTP/AVP;unicast;client_port=\(port)"])
    let header = Conversation.header("Transport", in: setUp) ?? ""
    let match = try #require(header.firstMatch(of: #/server_port=(\d+)-(\d+);/#))
    let ports = [try #require(Int(match.1)), try #require(Int(match.2))]
    let id = Conversation.header("Session", in: setUp).map { String($0.prefix(16)) } ?? ""
    _ = try await viewer.ask("PLAY", base + "live", ["Session: \(id)"])
    let first = try await media.take(1)[0]
    let number = try #require(first.rtpSequence)
    // A receiver's report and a request for that packet, and a goodbye in the server's own name.
    var request = ByteBuffer()
    request.writeMultipleIntegers(UInt8(0x80), UInt8(201), UInt16(1), UInt32(1))
    request.writeMultipleIntegers(UInt8(0x81), UInt8(205), UInt16(3), UInt32(1), UInt32(5))
    request.writeMultipleIntegers(number, UInt16(0))
    var goodbye = ByteBuffer()
    goodbye.writeMultipleIntegers(UInt8(0x80), UInt8(201), UInt16(1), UInt32(5))
    goodbye.writeMultipleIntegers(UInt8(0x81), UInt8(203), UInt16(1), UInt32(5))
    for port in ports {
      let server = try SocketAddress(ipAddress: "127.0.0.1", port: port)
      for _ in 0..<100 {
        stranger.say(request, to: server)
        stranger.say(goodbye, to: server)
      }
    }
    // What the client itself asks for comes behind all that, and is the only one that is answered.
    let server = try SocketAddress(ipAddress: "127.0.0.1", port: ports[0])
    try await stranger.flushed()
    media.say(request, to: server)
    try await withDeadline {
      while try await media.take(1)[0] != first {}
    }
    sender.stop()
    let report = try await withDeadline { try await sender.finished() }
    #expect(report.feedback.compounds == 1)
    #expect(report.feedback.resent == 1)
    await viewer.close()
    await media.close()
    await stranger.close()
    #expect(try await stranger.rest().isEmpty)
  }

  @Test func portsBelongToOneClientAndDatagramsOfStrangersToNobody() async throws {
    let (sender, base) = try await serve([try stream("live", pattern)])
    let media = try await Client()
    let port = media.address.port ?? 0
    let transport = "RTP/AVP;unicast;client_port=\(port)-\(port == 65_535 ? 1 : port + 1)"
    let first = try await Viewer(sender.localAddress)
    let setUp = try await first.ask("SETUP", base + "live", ["Transport: \(transport)"])
    let header = Conversation.header("Transport", in: setUp) ?? ""
    let match = try #require(header.firstMatch(of: #/server_port=(\d+)-(\d+);/#))
    let (even, odd) = (try #require(Int(match.1)), try #require(Int(match.2)))
    #expect(even.isMultiple(of: 2) && odd == even + 1)
    let second = try await Viewer(sender.localAddress)
    let refused = try await second.ask("SETUP", base + "live", ["Transport: \(transport)"])
    #expect(Conversation.status(refused) == 461)
    // What opens a NAT, and what a stranger sends, is nothing.
    let server = try SocketAddress(ipAddress: "127.0.0.1", port: even)
    media.say("\u{0}punch", to: server)
    let id = Conversation.header("Session", in: setUp).map { String($0.prefix(16)) } ?? ""
    _ = try await first.ask("PLAY", base + "live", ["Session: \(id)"])
    let datagrams = try await media.take(5)
    #expect(datagrams.allSatisfy { $0.getInteger(at: $0.readerIndex, as: UInt8.self) == 0x80 })
    // They come from the port that was named: the answer goes there.
    #expect(!RTCPPacket.recognizes(datagrams[0]))
    // Once the first has gone, the ports are free.
    await first.close()
    try await eventually {
      let answer = try await second.ask("SETUP", base + "live", ["Transport: \(transport)"])
      return Conversation.status(answer) == 200
    }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await second.close()
    await media.close()
  }
}

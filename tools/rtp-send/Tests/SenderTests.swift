import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

@Suite struct SenderTests {
  func pattern(frames: Int?) -> SourceRecipe {
    var pattern = PatternConfiguration()
    pattern.width = 256
    pattern.height = 144
    pattern.frameLimit = frames
    return .pattern(pattern)
  }

  func configuration(
    _ recipe: SourceRecipe, to destination: Destination
  ) -> SenderConfiguration {
    var configuration = SenderConfiguration(
      feed: PacketFeed.Configuration(
        recipe: recipe,
        stream: RTPStream.Configuration(ssrc: 5, initialSequence: 65_000, initialTimestamp: 0)),
      destination: destination)
    // Three of them are longer than a busy machine keeps an event loop waiting.
    configuration.heartbeatInterval = .seconds(1)
    return configuration
  }

  @Test func aHelloIsAnsweredWithTheStreamAndAGoodbye() async throws {
    let configuration = configuration(pattern(frames: 8), to: .listen(host: "127.0.0.1", port: 0))
    let sender = try await Sender.start(configuration)
    let client = try await Client()
    client.say("Nothing", to: sender.localAddress)
    client.say("Hello", to: sender.localAddress)
    let report = try await client.beating("x", to: sender.localAddress, every: .milliseconds(20)) {
      try await sender.finished()
    }
    #expect(report.ending == .sourceEnded)
    #expect(report.frames == 8)
    #expect(report.clients == 1)
    let datagrams = try await client.take(report.datagrams)
    let media = datagrams.filter { !RTCPPacket.recognizes($0) }
    let numbers = try media.map { try RTPPacket(parsing: $0).sequenceNumber.rawValue }
    #expect(numbers == media.indices.map { UInt16(truncatingIfNeeded: 65_000 + $0) })
    let last = try RTCPPacket.parse(compound: try #require(datagrams.last))
    #expect(last.last == .goodbye([5]))
    await client.close()
  }

  @Test func silenceEndsTheStreamAndTheNextHelloBeginsAnother() async throws {
    let configuration = configuration(pattern(frames: nil), to: .listen(host: "127.0.0.1", port: 0))
    let (events, continuation) = AsyncStream.makeStream(of: SenderEvent.self)
    let sender = try await Sender.start(configuration) { continuation.yield($0) }
    let (first, second) = (try await Client(), try await Client())
    var seen = events.makeAsyncIterator()
    first.say("Hello", to: sender.localAddress)
    #expect(await seen.next() == .clientArrived(first.address))
    second.say("Hello", to: sender.localAddress)
    #expect(await seen.next() == .clientIgnored(second.address))
    // Neither says anything more: the first is gone after three seconds.
    #expect(await seen.next() == .clientLeft(first.address))
    second.say("Hello", to: sender.localAddress)
    #expect(await seen.next() == .clientArrived(second.address))
    #expect(try await second.take(1).count == 1)
    sender.stop()
    let report = try await sender.finished()
    #expect(report.ending == .stopped)
    #expect(report.clients == 2)
    await first.close()
    await second.close()
  }

  @Test func heartbeatsKeepTheStreamAlive() async throws {
    var configuration = configuration(pattern(frames: 130), to: .listen(host: "127.0.0.1", port: 0))
    configuration.servesOnce = true
    let sender = try await Sender.start(configuration)
    let client = try await Client()
    client.say("Hello", to: sender.localAddress)
    // More than four seconds of video, and a silent client is gone after three.
    let report = try await client.beating("x", to: sender.localAddress, every: .milliseconds(100)) {
      try await sender.finished()
    }
    #expect(report.ending == .sourceEnded)
    await client.close()
  }

  @Test func clientsAreHeardByASenderThatIsNeverInTime() async throws {
    var configuration = configuration(pattern(frames: nil), to: .listen(host: "127.0.0.1", port: 0))
    configuration.pacing = .unpaced
    let (events, continuation) = AsyncStream.makeStream(of: SenderEvent.self)
    let sender = try await Sender.start(configuration) { continuation.yield($0) }
    let (first, second) = (try await Client(), try await Client())
    first.say("Hello", to: sender.localAddress)
    let seen = try await first.beating("x", to: sender.localAddress, every: .milliseconds(20)) {
      var seen: [SenderEvent] = []
      for await event in events {
        seen.append(event)
        if seen.count == 1 { second.say("Hello", to: sender.localAddress) }
        if seen.count == 2 { break }
      }
      return seen
    }
    #expect(seen == [.clientArrived(first.address), .clientIgnored(second.address)])
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await first.close()
    await second.close()
  }

  @Test func servingOnceEndsWithTheClient() async throws {
    var configuration = configuration(
      pattern(frames: nil), to: .listen(host: "127.0.0.1", port: 0))
    configuration.servesOnce = true
    configuration.hello = [1, 2, 3]
    let sender = try await Sender.start(configuration)
    let client = try await Client()
    client.say("\u{1}\u{2}\u{3}", to: sender.localAddress)
    let report = try await withDeadline { try await sender.finished() }
    #expect(report.ending == .clientLeft)
    #expect(report.clients == 1)
    await client.close()
  }

  @Test func stoppingBeforeAnyClientEnds() async throws {
    let sender = try await Sender.start(
      configuration(pattern(frames: nil), to: .listen(host: "::1", port: 0)))
    sender.stop()
    sender.stop()
    let report = try await withDeadline { try await sender.finished() }
    #expect(report.datagrams == 0)
  }

  @Test func streamsWithoutRTCPHaveNone() async throws {
    let client = try await Client()
    var configuration = configuration(
      pattern(frames: 3), to: .send(host: "127.0.0.1", port: client.address.port ?? 0))
    configuration.sendsRTCP = false
    configuration.pacing = .unpaced
    let sender = try await Sender.start(configuration)
    let report = try await withDeadline { try await sender.finished() }
    #expect(report.reports == 0)
    let datagrams = try await client.take(report.datagrams)
    #expect(!datagrams.contains { RTCPPacket.recognizes($0) })
    await client.close()
  }

  @Test func aSourceThatCannotBeOpenedFails() async throws {
    let sender = try await Sender.start(
      configuration(.file(path: "/nonexistent.mp4"), to: .send(host: "127.0.0.1", port: 9)))
    await #expect(throws: SendError.self) { try await withDeadline { try await sender.finished() } }
  }

  @Test(arguments: [
    ("udp://127.0.0.1:5004", Destination.send(host: "127.0.0.1", port: 5004)),
    ("udp://[::1]:5004/", .send(host: "::1", port: 5004)),
    ("listen://:0", .listen(host: "0.0.0.0", port: 0)),
    ("listen://[::]:7", .listen(host: "::", port: 7)),
  ]) func destinationsAreRead(url: String, destination: Destination) throws {
    #expect(try Destination(url) == destination)
  }

  @Test(arguments: [
    "", "udp://", "udp://:5004", "udp://host", "udp://host:0", "udp://host:70000", "tcp://host:1",
    "udp://::1:5004", "listen://", "host:5004",
  ]) func otherDestinationsAreRefused(url: String) {
    #expect(throws: SendError.self) { try Destination(url) }
  }

  /// FFmpeg sends to such, and rtp-recv listens there.
  @Test(arguments: ["rtp://127.0.0.1:5004", "RTP://127.0.0.1:5004/", "rtp://127.0.0.1:5004?ttl=1"])
  func whereAReceiverListensIsCalledUDP(url: String) {
    let error = #expect(throws: SendError.self) { try Destination(url) }
    #expect("\(error, default: "")".contains("write udp://127.0.0.1:5004"))
  }
}

/// FFmpeg as the receiver: our SDP describes the stream, and our BYE ends it.
@Suite struct FFmpegReceivesTests {
  @Test(arguments: [
    ("h264", SourceTests.h264), ("mp4", SourceTests.h264), ("h265", SourceTests.h265),
    ("mkv", SourceTests.h265),
  ])
  func everyFrameOfAFile(ending: String, options: [String]) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.\(ending)")
    try FFmpeg.makeClip(file, options)
    let expected = try await FFmpeg.frameHashes(decoding: ["-i", file.path])
    #expect(expected.count == 40)
    #expect(try await receive(.file(path: file.path), folder: folder) == expected)
  }

  @Test(arguments: Codec.allCases) func everyFrameOfThePattern(codec: Codec) async throws {
    var pattern = PatternConfiguration()
    pattern.codec = codec
    pattern.width = 320
    pattern.height = 180
    pattern.frameLimit = 40
    let folder = try TemporaryFolder()
    let hashes = try await receive(.pattern(pattern), folder: folder)
    // Every frame differs from every other by its number.
    #expect(Set(hashes).count == 40)
  }

  private func receive(_ recipe: SourceRecipe, folder: TemporaryFolder) async throws -> [String] {
    // FFmpeg cannot say which port it took, so a free one is found for it.
    let port = Int(try FreePort.udpPair())
    var feed = PacketFeed.Configuration(
      recipe: recipe,
      stream: RTPStream.Configuration(ssrc: 5, initialSequence: 65_500, initialTimestamp: 0))
    feed.stripsParameterSets = true
    var configuration = SenderConfiguration(
      feed: feed, destination: .send(host: "127.0.0.1", port: port))
    configuration.pacing = .mediaTime(speed: 2)
    let description = SessionDescription(
      try StreamDescription(of: recipe), payloadType: 96, packetization: .nonInterleaved,
      address: try SocketAddress(ipAddress: "127.0.0.1", port: port), multiplexesRTCP: true)
    let file = folder.url("stream.sdp")
    try Data(description.text.utf8).write(to: file)
    async let hashes = FFmpeg.frameHashes(decoding: [
      "-protocol_whitelist", "file,udp,rtp", "-i", file.path,
    ])
    try await eventually("a socket is bound to \(port)") {
      try FreePort.isTaken(udp: UInt16(port))
    }
    let sender = try await Sender.start(configuration)
    _ = try await withDeadline { try await sender.finished() }
    return try await hashes
  }
}

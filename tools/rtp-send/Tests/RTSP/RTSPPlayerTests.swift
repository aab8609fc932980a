import NIOCore
import NIOEmbedded
import Testing

@testable import RTPSend

/// What one client gets of what waits for it, with its connection in memory.
@Suite struct RTSPPlayerTests {
  private static let channels = TransportOffer.ChannelPair(rtp: 0, rtcp: 1)

  private static func stream(survey: FileSurvey?) throws -> ServedStream {
    let feed = PacketFeed.Configuration(
      recipe: .pattern(PatternConfiguration()),
      stream: RTPStream.Configuration(ssrc: 7, initialSequence: 0, initialTimestamp: 0))
    let description = SessionDescription(
      nil, payloadType: 96, packetization: .nonInterleaved,
      address: try SocketAddress(ipAddress: "0.0.0.0", port: 0), multiplexesRTCP: false)
    var stream = ServedStream(
      name: "film",
      ServedStream.Content(
        SenderConfiguration(feed: feed, destination: .listen(host: "", port: 0)), description))
    stream.survey = survey
    return stream
  }

  /// The connection takes no more in the middle of a picture; then the client pauses and goes on,
  /// or asks to go on although it has not paused.
  @Test(arguments: [true, false], [true, false])
  func onlyAFileGoesOnWithWhatWaits(isFile: Bool, isPaused: Bool) throws {
    let loop = EmbeddedEventLoop()
    let promise = loop.makePromise(of: SendReport.self)
    defer { promise.succeed(SendReport()) }
    let server = EmbeddedClient.server(on: loop, report: promise)
    let client = try EmbeddedClient(of: server, on: loop)
    let stream = try Self.stream(
      survey: isFile ? FileSurvey(start: 0, duration: 60_000_000_000) : nil)
    let sending = try #require(stream.content).sending
    let programme = Programme(stream, sending, server: server, on: loop.assumeIsolated())
    let player = RTSPPlayer("1", of: programme, on: client.connection, nil)
    player.setUp(0, .interleaved(Self.channels))
    programme.start(player)
    client.isTaking = false
    let packets = MadePackets.pictures(0..<3, group: 3)
    player.take(PacketBatch(packets))
    if isPaused {
      programme.stop(player)
      client.isTaking = true
      player.drain()
      player.flush()
      #expect(try client.taken().isEmpty)
      client.isTaking = false
    }
    programme.start(player)
    client.isTaking = true
    player.drain()
    player.flush()
    // What is live has gone on meanwhile.
    let isLeftOut = !isFile && isPaused
    let frames = ChannelMap([0: .interleaved(Self.channels)]).frames(of: packets)
    #expect(try client.taken() == (isLeftOut ? [] : Array(frames.bytes.readableBytesView)))
    _ = try client.channel.finish(acceptAlreadyClosed: true)
  }
}

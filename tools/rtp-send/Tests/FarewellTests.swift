import NIOCore
import NIOEmbedded
import NIOHTTP1
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

/// A sender that is stopped while a socket takes nothing: it ends two seconds later.
struct FarewellTests {
  private func configuration(_ destination: Destination) -> SenderConfiguration {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height) = (256, 144)
    var configuration = SenderConfiguration(
      feed: PacketFeed.Configuration(
        recipe: .pattern(pattern),
        stream: RTPStream.Configuration(ssrc: 5, initialSequence: 0, initialTimestamp: 0)),
      destination: destination)
    configuration.pacing = .unpaced
    return configuration
  }

  /// The end of a sender that is stopped, and told afterwards that the socket takes more.
  private func expectEnd(
    of channel: EmbeddedChannel, _ report: EventLoopFuture<SendReport>
  ) throws {
    let loop = channel.embeddedEventLoop
    channel.pipeline.fireUserInboundEventTriggered(StopSending())
    loop.advanceTime(by: .seconds(1))
    channel.pipeline.fireChannelWritabilityChanged()
    #expect(channel.isActive)
    loop.advanceTime(by: .seconds(1))
    try #require(!channel.isActive)
    #expect(try report.wait().ending == .stopped)
  }

  @Test func toOneReceiverInDatagrams() throws {
    let loop = EmbeddedEventLoop()
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 9)
    let promise = loop.makePromise(of: SendReport.self)
    let session = SendingSession(
      configuration(.send(host: "127.0.0.1", port: 9)), to: address, on: loop, report: promise
    ) { _ in }
    let channel = EmbeddedChannel(handlers: [FullSocket(), session], loop: loop)
    try channel.connect(to: address).wait()
    try expectEnd(of: channel, promise.futureResult)
  }

  @Test func toAClientOfHTTP() throws {
    let loop = EmbeddedEventLoop()
    let promise = loop.makePromise(of: SendReport.self)
    var configuration = configuration(.serveHTTP(host: "127.0.0.1", port: 0))
    configuration.servesOnce = true
    let server = HTTPServing(configuration, report: promise) { _ in }
    let channel = EmbeddedChannel(
      handlers: [FullSocket(), HTTPClientSession(server, on: loop)], loop: loop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 9)).wait()
    try channel.writeInbound(
      HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")))
    try expectEnd(of: channel, promise.futureResult)
  }
}

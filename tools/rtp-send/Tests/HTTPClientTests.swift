import NIOCore
import NIOEmbedded
import NIOHTTP1
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import RTPSend

/// Clients of a server of HTTP that want too much, or nothing.
struct HTTPClientTests {
  private let loop = EmbeddedEventLoop()
  private let server: HTTPServing
  private let events = Record<SenderEvent>()

  init() {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height) = (256, 144)
    server = Self.server(.pattern(pattern), on: loop, events)
  }

  private static func server(
    _ recipe: SourceRecipe, on loop: EmbeddedEventLoop, _ events: Record<SenderEvent>
  ) -> HTTPServing {
    let promise = loop.makePromise(of: SendReport.self)
    promise.futureResult.whenComplete { _ in }
    let configuration = SenderConfiguration(
      feed: PacketFeed.Configuration(
        recipe: recipe,
        stream: RTPStream.Configuration(ssrc: 5, initialSequence: 0, initialTimestamp: 0)),
      destination: .serveHTTP(host: "127.0.0.1", port: 0))
    return HTTPServing(configuration, report: promise) { events.append($0) }
  }

  private func connect(to server: HTTPServing? = nil) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(
      handler: HTTPClientSession(server ?? self.server, on: loop), loop: loop)
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 9), promise: nil)
    return channel
  }

  private let get = HTTPServerRequestPart.head(
    HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"))

  @Test func whoAsksForNothingIsNotAwaited() throws {
    let channel = try connect()
    loop.advanceTime(by: .seconds(9))
    #expect(channel.isActive)
    loop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }

  @Test func whoTakesNothingHasLeft() throws {
    let channel = try connect()
    try channel.writeInbound(get)
    loop.advanceTime(by: .seconds(20))
    #expect(channel.isActive)
    channel.isWritable = false
    channel.pipeline.fireChannelWritabilityChanged()
    loop.advanceTime(by: .seconds(64))
    #expect(channel.isActive)
    loop.advanceTime(by: .seconds(3))
    #expect(!channel.isActive)
    #expect(events.elements.count == 2)
  }

  @Test func whoTakesLittleStays() throws {
    let socket = FullSocket()
    let channel = EmbeddedChannel(
      handlers: [socket, HTTPClientSession(server, on: loop)], loop: loop)
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 9), promise: nil)
    try channel.writeInbound(get)
    channel.isWritable = false
    channel.pipeline.fireChannelWritabilityChanged()
    loop.advanceTime(by: .seconds(60))
    socket.takeAll()
    loop.advanceTime(by: .seconds(60))
    #expect(channel.isActive)
    loop.advanceTime(by: .seconds(70))
    #expect(!channel.isActive)
  }

  @Test func oneAddressHasNotAllConnections() throws {
    let most = RTSPServerConfiguration.Limits().connectionsOfOneAddress
    let channels = try (0...most).map { _ in try connect() }
    #expect(channels.filter(\.isActive).count == most)
    #expect(!channels[most].isActive)
    channels[0].close(promise: nil)
    #expect(try connect().isActive)
  }

  @Test func aSourceThatCannotBeOpenedForOneMayBeForOthers() throws {
    let server = Self.server(.file(path: "/nowhere/at/all.h264"), on: loop, events)
    let channel = try connect(to: server)
    try channel.writeInbound(get)
    guard case .head(let head) = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
      Issue.record("no answer")
      return
    }
    #expect(head.status == .serviceUnavailable)
    guard case .clientFailed(_, let reason) = events.elements.first else {
      Issue.record("\(events.elements)")
      return
    }
    #expect(reason.contains("all.h264"))
    #expect(!channel.isActive)
    #expect(try connect(to: server).isActive)
  }
}

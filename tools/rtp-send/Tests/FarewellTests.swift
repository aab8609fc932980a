import NIOCore
import NIOEmbedded
import NIOHTTP1
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

/// What has been written leaves before the program does.
@Suite struct FarewellTests {
  /// A way on which everything waits until it is opened.
  private final class Gate<Item>: ChannelOutboundHandler {
    typealias OutboundIn = Item
    typealias OutboundOut = Item

    private(set) var held: [(item: Item, promise: EventLoopPromise<Void>?)] = []
    private var isOpen = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func write(
      context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
      if isOpen {
        context.write(data, promise: promise)
      } else {
        held.append((item: unwrapOutboundIn(data), promise: promise))
      }
    }

    func flush(context: ChannelHandlerContext) { if isOpen { context.flush() } }

    func close(
      context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
      let lost = held
      held = []
      for (_, promise) in lost { promise?.fail(ChannelError.ioOnClosedChannel) }
      context.close(mode: mode, promise: promise)
    }

    func open() {
      isOpen = true
      let items = held
      held = []
      for (item, promise) in items { context?.write(wrapOutboundOut(item), promise: promise) }
      context?.flush()
    }
  }

  /// Clients take a connection that ends with its stream for a fault, and leave by themselves.
  @Test(arguments: [true, false])
  func aServerThatServesOnceWaitsForItsClient(isTaken: Bool) throws {
    let loop = EmbeddedEventLoop()
    let promise = loop.makePromise(of: SendReport.self)
    var isOver = false
    promise.futureResult.assumeIsolated().whenComplete { _ in isOver = true }
    var configuration = RTSPServerConfiguration(streams: [], host: "127.0.0.1", port: 0)
    configuration.servesOnce = true
    let server = RTSPServing(configuration, on: loop, report: promise, onEvent: { _ in })
    let gate = Gate<ByteBuffer>()
    let connection = RTSPConnection(server, on: loop)
    let channel = EmbeddedChannel(handlers: [gate, connection], loop: loop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 9)).wait()
    connection.noteEnd(of: "1")
    loop.advanceTime(by: .seconds(30))
    #expect(!isOver)
    if isTaken {
      gate.open()
      loop.advanceTime(by: .seconds(4))
      #expect(!isOver)
    } else {
      loop.advanceTime(by: .seconds(30))
      #expect(!isOver)
    }
    loop.advanceTime(by: .seconds(10))
    #expect(isOver)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  /// A pattern with an end.
  private static func configuration(_ destination: Destination) -> SenderConfiguration {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.frameLimit) = (256, 144, 8)
    let stream = RTPStream.Configuration(ssrc: 5, initialSequence: 0, initialTimestamp: 0)
    var configuration = SenderConfiguration(
      feed: PacketFeed.Configuration(recipe: .pattern(pattern), stream: stream),
      destination: destination)
    configuration.pacing = .unpaced
    configuration.servesOnce = true
    return configuration
  }

  enum Reader: CaseIterable {
    case readsAll, readsNothing, leaves, isStopped
  }

  @Test(arguments: Reader.allCases)
  func aClientOfHTTPHasLeftWhenItHasTheLastChunk(reader: Reader) throws {
    let loop = EmbeddedEventLoop()
    let promise = loop.makePromise(of: SendReport.self)
    var report: SendReport?
    promise.futureResult.assumeIsolated().whenSuccess { report = $0 }
    let server = HTTPServing(
      Self.configuration(.serveHTTP(host: "127.0.0.1", port: 0)), report: promise,
      onEvent: { _ in })
    let gate = Gate<HTTPServerResponsePart>()
    let channel = EmbeddedChannel(
      handlers: [gate, HTTPClientSession(server, on: loop)], loop: loop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 9)).wait()
    let request = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/live")
    _ = try channel.writeInbound(HTTPServerRequestPart.head(request))
    try waitUntil("the last chunk is written") {
      loop.advanceTime(to: .now())
      if case .end? = gate.held.last?.item { return true }
      return false
    }
    #expect(report == nil)
    switch reader {
    case .readsAll:
      gate.open()
      #expect(report?.ending == .sourceEnded)
    case .readsNothing:
      loop.advanceTime(by: .seconds(59))
      #expect(report == nil)
      loop.advanceTime(by: .seconds(2))
      #expect(report?.ending == .clientLeft)
    case .leaves:
      channel.close(promise: nil)
      #expect(report?.ending == .clientLeft)
    case .isStopped:
      server.stop(.stopped)
      #expect(report == nil)
      loop.advanceTime(by: .seconds(3))
      #expect(report?.ending == .stopped)
    }
    #expect(report?.frames == 8)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test(arguments: [true, false])
  func aSenderEndsWithItsLastDatagram(isTaken: Bool) throws {
    let loop = EmbeddedEventLoop()
    let promise = loop.makePromise(of: SendReport.self)
    var report: SendReport?
    promise.futureResult.assumeIsolated().whenSuccess { report = $0 }
    let remote = try SocketAddress(ipAddress: "127.0.0.1", port: 9)
    let gate = Gate<AddressedEnvelope<ByteBuffer>>()
    let session = SendingSession(
      Self.configuration(.send(host: "127.0.0.1", port: 9)), to: remote, on: loop,
      report: promise, onEvent: { _ in })
    let channel = EmbeddedChannel(handlers: [gate, session], loop: loop)
    try channel.connect(to: remote).wait()
    try waitUntil("goodbye is said") {
      loop.advanceTime(to: .now())
      guard let last = gate.held.last?.item.data, RTCPPacket.recognizes(last) else { return false }
      return try RTCPPacket.parse(compound: last).last == .goodbye([5])
    }
    #expect(report == nil && channel.isActive)
    let count = gate.held.count
    if isTaken { gate.open() } else { loop.advanceTime(by: .seconds(61)) }
    #expect(report?.ending == .sourceEnded && report?.datagrams == count)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }
}

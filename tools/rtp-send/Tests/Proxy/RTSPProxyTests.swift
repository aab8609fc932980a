import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RTPSend

/// What one host can take of a proxy in front of an RTSP server.
struct RTSPProxyTests {
  private typealias Viewer = RTSPServingTests.Viewer

  /// A server that answers nothing, and a proxy in front of it.
  private struct Pair {
    let proxy: Proxy
    private let server: any Channel
    private let received: Record<String>

    init(_ limits: Proxy.Configuration.Limits) async throws {
      let received = Record<String>()
      self.received = received
      server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Inbox(received))
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let port = try #require(server.localAddress?.port)
      var configuration = Proxy.Configuration(
        listening: try Proxy.Endpoint("rtsp://127.0.0.1:0"),
        target: try Proxy.Endpoint("rtsp://127.0.0.1:\(port)"))
      configuration.limits = limits
      proxy = try await Proxy.start(configuration)
    }

    /// What came to the server.
    var text: String { received.elements.joined() }

    func stop() async throws -> ProxyReport {
      let report = try await proxy.stop()
      try await server.close().get()
      return report
    }
  }

  private final class Inbox: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let received: Record<String>

    init(_ received: Record<String>) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      received.append(String(buffer: unwrapInboundIn(data)))
    }
  }

  @Test func oneAddressHasNotAllClients() async throws {
    var limits = Proxy.Configuration.Limits()
    limits.clientsOfOneAddress = 2
    let pair = try await Pair(limits)
    var viewers: [Viewer] = []
    for _ in 0..<3 { viewers.append(try await Viewer(pair.proxy.localAddress)) }
    let last = viewers[2]
    try await eventually("the third is turned away") { !last.isOpen }
    #expect(viewers[0].isOpen && viewers[1].isOpen)
    #expect(try await pair.stop().clients == 2)
  }

  /// What is beyond the limit is passed on as it is.
  @Test func oneAddressHasNotAllSockets() async throws {
    var limits = Proxy.Configuration.Limits()
    limits.tracksOfOneAddress = 2
    let pair = try await Pair(limits)
    let viewers = [
      try await Viewer(pair.proxy.localAddress), try await Viewer(pair.proxy.localAddress),
    ]
    for number in 0..<3 {
      viewers[number % 2].send(
        "SETUP rtsp://camera/\(number) RTSP/1.0\r\nCSeq: \(number)\r\n"
          + "Transport: RTP/AVP;unicast;client_port=4000-4001\r\n\r\n")
      try await eventually("it has come to the server") {
        pair.text.ranges(of: "\r\n\r\n").count == number + 1
      }
    }
    let ports = pair.text.matches(of: #/client_port=(\d+)/#).map { String($0.1) }
    #expect(ports.count == 3 && ports.map { $0 == "4000" } == [false, false, true], "\(ports)")
    _ = try await pair.stop()
  }

  @Test func whoSaysNothingIsLeftAndWhoSpeaksStays() async throws {
    var limits = Proxy.Configuration.Limits()
    limits.silence = .seconds(5)
    let pair = try await Pair(limits)
    let talker = try await Viewer(pair.proxy.localAddress)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let beat = loop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(100)) { _ in
      talker.send("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    }
    defer { beat.cancel(promise: nil) }
    let silent = try await Viewer(pair.proxy.localAddress)
    try await eventually("the silent one is left") { !silent.isOpen }
    #expect(talker.isOpen)
    _ = try await pair.stop()
  }
}

import NIOCore
import NIOPosix
import TestSupport
import Testing
import Transports

@testable import JetStream

/// What a server of NATS does to those that open it.
struct JetStreamReceiverTests {
  /// Greets as a server that wants TLS does, and says nothing more.
  private final class Greeting: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
      let text =
        "INFO {\"server_id\":\"x\",\"max_payload\":1048576,\"headers\":true,"
        + "\"tls_required\":true}\r\n"
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }
  }

  @Test func aServerThatIsSilentInTheHandshakeOfTLSIsGivenUp() async throws {
    let group = MultiThreadedEventLoopGroup.singleton
    let listener = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Greeting())
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(listener.localAddress?.port)
    let address = try StreamAddress(parsing: "nats+tls://127.0.0.1:\(port)/x", known: [])
    let login = try NATSLogin()
    let sink = RecordingSink()
    let loop = group.next()
    let opening = loop.flatSubmit {
      JetStreamReceiver(on: loop, delivering: sink).begin(within: .milliseconds(300)) { state in
        StreamReader(
          address: address, login: login, options: JetStreamOptions(), patience: nil, state: state)
      }
    }
    let error = await #expect(throws: JetStreamError.self) {
      try await withDeadline { try await opening.get() }
    }
    #expect(error.map { "\($0)" }?.contains("127.0.0.1:\(port)") == true)
    #expect(sink.ends.elements.isEmpty)
    try await listener.close()
  }
}

/// What a server says, as it reaches a terminal.
struct JetStreamErrorTests {
  @Test(arguments: [
    JetStreamError.notConnected(server: "h", reason: "\u{1B}[2J"),
    .notTrusted(server: "h", reason: "\u{1B}[2J"), .refused(server: "h", reason: "a\u{1B}[2J\nb"),
    .badDescription("\u{202E}\u{7}"),
  ])
  func wordsOfAServerDoNotControlTheTerminal(error: JetStreamError) {
    let text = error.words(about: "nats://h/x")
    #expect(
      text.unicodeScalars.allSatisfy { !["\u{1B}", "\n", "\u{7}", "\u{202E}"].contains($0) })
  }

  @Test func aLoginDescribesNothing() throws {
    var login = try NATSLogin()
    login.token = "canary"
    login.user = .init(user: "me", password: "canary")
    var text = "\(login)"
    dump(login, to: &text)
    #expect(!text.contains("canary"))
  }
}

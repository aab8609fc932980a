import NIOCore
import NIOPosix
import TestSupport

/// A receiver on loopback that sends what it is told to and keeps what it gets.
final class Client: Sendable {
  let address: SocketAddress
  private let channel: any Channel
  private let inbox: AsyncStream<ByteBuffer>

  init(host: String = "127.0.0.1") async throws {
    let (inbox, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
    self.inbox = inbox
    channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Inbox(continuation))
        }
      }
      .bind(host: host, port: 0).get()
    address = try channel.localAddress ?? SocketAddress(ipAddress: host, port: 0)
  }

  func say(_ text: String, to remote: SocketAddress) { say(ByteBuffer(string: text), to: remote) }

  func say(_ bytes: ByteBuffer, to remote: SocketAddress) {
    channel.writeAndFlush(AddressedEnvelope(remoteAddress: remote, data: bytes), promise: nil)
  }

  /// Returns when all that was said has left.
  func flushed() async throws { try await channel.eventLoop.submit {}.get() }

  /// Says `text` at intervals as long as `body` runs.
  func beating<Value: Sendable>(
    _ text: String, to remote: SocketAddress, every interval: TimeAmount,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let beat = channel.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) {
      _ in
      self.say(text, to: remote)
    }
    defer { beat.cancel(promise: nil) }
    return try await withDeadline(.seconds(30), body)
  }

  /// The next datagrams, in the order in which they came.
  func take(_ count: Int) async throws -> [ByteBuffer] {
    let inbox = inbox
    return try await withDeadline {
      var datagrams: [ByteBuffer] = []
      guard count > 0 else { return datagrams }
      for await datagram in inbox {
        datagrams.append(datagram)
        if datagrams.count == count { break }
      }
      return datagrams
    }
  }

  func close() async { try? await channel.close().get() }

  /// What is still there after ``close()``.
  func rest() async throws -> [ByteBuffer] {
    let inbox = inbox
    return try await withDeadline { await inbox.reduce(into: []) { $0.append($1) } }
  }

  private final class Inbox: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let continuation: AsyncStream<ByteBuffer>.Continuation

    init(_ continuation: AsyncStream<ByteBuffer>.Continuation) { self.continuation = continuation }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      continuation.yield(unwrapInboundIn(data).data)
    }

    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
  }
}

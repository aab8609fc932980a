import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import TransportConformance

/// The listening side of a TCP connection on this machine, for far ends with connections.
///
/// It accepts one connection at a time, and hands incoming bytes to its owner.
final class StreamPeer: Sendable {
  struct Gone: Error {}

  let port: Int
  private let listener: any Channel
  private let state = Mutex(State())
  private let isSlow: Bool

  private struct State {
    var channel: (any Channel)?
    var all: [any Channel] = []
  }

  /// Listens; `received` is called on the connection's event loop with what comes, and with the
  /// peer.
  init(
    isSlow: Bool = false, accepted: @escaping @Sendable (StreamPeer) -> Void = { _ in },
    received: @escaping @Sendable (ByteBuffer, StreamPeer) -> Void = { _, _ in }
  ) async throws {
    self.isSlow = isSlow
    let owner = Owner()
    listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            Intake { bytes in if let peer = owner.peer { received(bytes, peer) } })
        }.map {
          owner.peer?.state.withLock { state in
            state.channel = channel
            state.all.append(channel)
          }
          if let peer = owner.peer { accepted(peer) }
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = listener.localAddress?.port ?? 0
    owner.peer = self
  }

  /// A peer that sends `start` on each connection, and `again` forever; `nil` ends it (FIN).
  ///
  /// It sends 4 MiB as fast as they are taken, and then a hundred times a second: what is kept of
  /// them shows in the first part already, and a deadline that each portion puts off in the second.
  static func hostile(start: String, again: String?) async throws -> StreamPeer {
    try await StreamPeer(accepted: { peer in
      Task {
        if !start.isEmpty { try await peer.write(ByteBuffer(string: start)) }
        guard let again else { return try await peer.finish() }
        let block = ByteBuffer(string: String(repeating: again, count: 4000))
        for _ in 0..<(4 << 20) / block.readableBytes { try await peer.write(block) }
        while true {
          try await peer.write(ByteBuffer(string: again))
          try await Task.sleep(for: .milliseconds(10))
        }
      }
    })
  }

  /// Writes, and returns when the kernel has taken it all; byte by byte if it is slow.
  func write(_ bytes: ByteBuffer) async throws {
    let channel = try await connection()
    guard isSlow else { return try await channel.writeAndFlush(bytes).get() }
    for byte in bytes.readableBytesView {
      try await channel.writeAndFlush(ByteBuffer(bytes: [byte])).get()
    }
  }

  /// The same on the connection's event loop, without waiting.
  func reply(_ bytes: ByteBuffer) {
    guard let channel = state.withLock({ $0.channel }) else { return }
    guard isSlow else { return channel.writeAndFlush(bytes, promise: nil) }
    for byte in bytes.readableBytesView {
      channel.writeAndFlush(ByteBuffer(bytes: [byte]), promise: nil)
    }
  }

  /// The connection, which the client may know of earlier than this side.
  private func connection() async throws -> any Channel {
    try await eventualValue(of: "a connection") { state.withLock { $0.channel } }
  }

  /// Ends the stream (FIN).
  func finish() async throws {
    try await connection().close(mode: .output).get()
  }

  /// Breaks the connection (RST).
  func reset() async throws {
    let channel = try await connection()
    try await (channel as? any SocketOptionProvider)?
      .setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    try await channel.close().get()
  }

  func close() async {
    let channels = state.withLock { state in
      state.channel = nil
      return state.all
    }
    for channel in channels { try? await channel.close().get() }
    try? await listener.close().get()
  }

  /// Breaks the ring from the listener's closure to the peer.
  private final class Owner: Sendable {
    private struct Reference { weak var peer: StreamPeer? }
    private let reference = Mutex(Reference())

    var peer: StreamPeer? {
      get { reference.withLock { $0.peer } }
      set { reference.withLock { $0.peer = newValue } }
    }
  }

  private final class Intake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: (ByteBuffer) -> Void

    init(_ received: @escaping (ByteBuffer) -> Void) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      received(unwrapInboundIn(data))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
}

import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A pair of UDP sockets with neighbouring ports on this machine, as far ends in datagrams need it.
final class DatagramPeer: Sendable {
  /// What came to either, with the sender's address.
  let received = Mutex<[(bytes: ByteBuffer, origin: SocketAddress)]>([])
  let media: any Channel
  let control: any Channel

  var port: Int { media.localAddress?.port ?? 0 }

  private init(_ media: any Channel, _ control: any Channel) {
    (self.media, self.control) = (media, control)
  }

  static func open() async throws -> DatagramPeer {
    let bootstrap = DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      // What the transport sends is refused at times, which is no matter of the far end's.
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 4096))
    for _ in 0..<64 {
      let media = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
      let port = media.localAddress?.port ?? 0
      if port.isMultiple(of: 2),
        let control = try? await bootstrap.bind(host: "127.0.0.1", port: port + 1).get()
      {
        let peer = DatagramPeer(media, control)
        for channel in [media, control] {
          try await channel.eventLoop.submit { [weak peer] in
            try channel.pipeline.syncOperations.addHandler(
              Intake { envelope in
                peer?.received.withLock { $0.append((envelope.data, envelope.remoteAddress)) }
              })
          }.get()
        }
        return peer
      }
      try await media.close().get()
    }
    throw NoPorts()
  }

  struct NoPorts: Error {}

  /// Sends each one as a datagram, and returns when the kernel has them.
  func send(_ datagrams: [ByteBuffer], to port: Int) async throws {
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
    guard let last = datagrams.last else { return }
    for bytes in datagrams.dropLast() {
      media.write(AddressedEnvelope(remoteAddress: address, data: bytes), promise: nil)
    }
    try await media.writeAndFlush(AddressedEnvelope(remoteAddress: address, data: last)).get()
  }

  /// The first datagram for which `isWanted` holds, waited for.
  func first(
    where isWanted: @Sendable (ByteBuffer) -> Bool = { _ in true }
  ) async throws -> SocketAddress {
    try await eventualValue(of: "a datagram") {
      received.withLock { $0.first { isWanted($0.bytes) }?.origin }
    }
  }

  /// RTCP that came to either socket (RFC 5761 §4).
  var feedback: [ByteBuffer] {
    received.withLock { $0.map(\.bytes) }.filter {
      (200...207).contains($0.getInteger(at: $0.readerIndex + 1, as: UInt8.self) ?? 0)
    }
  }

  func close() async {
    for channel in [media, control] { try? await channel.close().get() }
  }

  private final class Intake: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let received: (AddressedEnvelope<ByteBuffer>) -> Void

    init(_ received: @escaping (AddressedEnvelope<ByteBuffer>) -> Void) {
      self.received = received
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      received(unwrapInboundIn(data))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
  }
}

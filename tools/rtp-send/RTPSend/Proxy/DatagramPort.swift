import NIOCore
import NIOPosix

/// A UDP socket of the proxy.
final class DatagramPort: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>
  typealias OutboundOut = AddressedEnvelope<ByteBuffer>

  /// Datagrams read with one system call, and the longest of them.
  private static let batch = 16
  private static let longest = 1 << 16
  /// Some tenths of a second at 100 Mbit/s, if the kernel permits it.
  private static let receiveBuffer = 4 << 20

  /// Takes what comes, and the end of what one read brought.
  var onDatagram: (ByteBuffer, SocketAddress) -> Void = { _, _ in }
  var onReadComplete: () -> Void = {}
  private(set) var channel: (any Channel)?

  func handlerAdded(context: ChannelHandlerContext) { channel = context.channel }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = unwrapInboundIn(data)
    onDatagram(envelope.data, envelope.remoteAddress)
  }

  func channelReadComplete(context: ChannelHandlerContext) { onReadComplete() }

  // A port that nobody listens on (ICMP) says so; the next packet may find somebody.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}

  /// Writes, to be sent with the next flush.
  func write(_ bytes: ByteBuffer, to address: SocketAddress) {
    channel?.write(AddressedEnvelope(remoteAddress: address, data: bytes), promise: nil)
  }

  func flush() { channel?.flush() }

  func close() {
    (onDatagram, onReadComplete) = ({ _, _ in }, {})
    channel?.close(promise: nil)
  }

  var port: Int { channel?.localAddress?.port ?? 0 }

  /// Opens a socket bound to `address`.
  static func open(
    _ address: SocketAddress, on loop: any EventLoop
  ) -> EventLoopFuture<NIOLoopBound<DatagramPort>> {
    DatagramBootstrap(group: loop)
      .channelOption(.socketOption(.so_rcvbuf), value: receiveBuffer)
      .channelOption(.maxMessagesPerRead, value: 8)
      .channelOption(.datagramVectorReadMessageCount, value: batch)
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: batch * longest)
      )
      .bindOrClose(to: address) { try $0.pipeline.syncOperations.addHandler(DatagramPort()) }
      .flatMapErrorThrowing { throw SendError.cannotListen(at: address, $0) }
      .flatMapThrowing { channel in
        NIOLoopBound(
          try channel.pipeline.syncOperations.handler(type: DatagramPort.self), eventLoop: loop)
      }
  }

  /// Opens two sockets with neighbouring ports, the first of them even (RFC 3550 §11).
  static func openPair(
    _ host: SocketAddress, attempts: Int = 50, on loop: any EventLoop
  ) -> EventLoopFuture<NIOLoopBound<[DatagramPort]>> {
    var any = host
    any.port = 0
    return open(any, on: loop).flatMap { first in
      var neighbour = host
      let port = first.value.port
      neighbour.port = port ^ 1
      return open(neighbour, on: loop).map { second in
        NIOLoopBound(
          port.isMultiple(of: 2) ? [first.value, second.value] : [second.value, first.value],
          eventLoop: loop)
      }.flatMapError { error in
        first.value.close()
        guard attempts > 1 else { return loop.makeFailedFuture(error) }
        return openPair(host, attempts: attempts - 1, on: loop)
      }
    }
  }

  /// Opens a pair on each of two addresses, or none.
  static func openPairs(
    _ host: SocketAddress, _ other: SocketAddress, on loop: any EventLoop
  ) -> EventLoopFuture<(NIOLoopBound<[DatagramPort]>, NIOLoopBound<[DatagramPort]>)> {
    openPair(host, on: loop).flatMap { first in
      openPair(other, on: loop).map { (first, $0) }.flatMapErrorThrowing { error in
        first.value.forEach { $0.close() }
        throw error
      }
    }
  }

  /// Opens `address` and the port above, or none.
  static func openWithNext(
    _ address: SocketAddress, on loop: any EventLoop
  ) -> EventLoopFuture<NIOLoopBound<[DatagramPort]>> {
    open(address, on: loop).flatMap { first in
      open(address.above(1), on: loop).map { second in
        NIOLoopBound([first.value, second.value], eventLoop: loop)
      }.flatMapErrorThrowing { error in
        first.value.close()
        throw error
      }
    }
  }

  /// How many datagrams the kernel dropped because this program was too slow.
  var ownLosses: EventLoopFuture<UInt32>? {
    guard let channel, let options = channel as? any SocketOptionProvider else { return nil }
    // SO_MEMINFO is nine numbers, of which the last is what SO_RXQ_OVFL counts (sock_diag(7)).
    typealias MemoryInformation = (
      UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32
    )
    let information: EventLoopFuture<MemoryInformation> = options.unsafeGetSocketOption(
      level: .socket, name: NIOBSDSocket.Option(rawValue: 55))
    return information.map(\.8)
  }
}

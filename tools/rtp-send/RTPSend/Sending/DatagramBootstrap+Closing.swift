import NIOCore
import NIOPosix
import Synchronization

extension DatagramBootstrap {
  /// What was made, whether it could be bound or not.
  private final class Made: Sendable {
    let channel = Mutex<(any Channel)?>(nil)
  }

  /// Binds a socket to `address`, and closes it where that fails: SwiftNIO's own (2.101) leaves it
  /// open for good then.
  ///
  /// `initialize` adds the handlers.
  func bindOrClose(
    to address: SocketAddress, _ initialize: @escaping @Sendable (any Channel) throws -> Void
  ) -> EventLoopFuture<any Channel> {
    let made = Made()
    return channelInitializer { channel in
      made.channel.withLock { $0 = channel }
      return channel.eventLoop.makeCompletedFuture { try initialize(channel) }
    }
    .bind(to: address)
    .flatMapErrorThrowing { error in
      made.channel.withLock(\.self)?.close(promise: nil)
      throw error
    }
  }
}

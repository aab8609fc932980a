import Glibc
import NIOCore

/// A port that looks closed, although media come from it.
///
/// Some cameras refuse what clients send to open their firewalls.
enum ClosedPort {
  /// That of the discard service (RFC 863), which sends nothing.
  private static let discard = 9

  /// Has the system answer whatever comes to a UDP socket with ICMP (port unreachable).
  ///
  /// A connected socket takes datagrams of its far end alone, but sends to whom it is told.
  /// SwiftNIO is not told of the connection, since it would send to that far end alone too. Where
  /// the system refuses, the datagrams are taken and ignored.
  static func imitate(on channel: any Channel) {
    guard var nobody = channel.localAddress else { return }
    nobody.port = discard
    _ = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self
    ) { descriptor in
      unsafe nobody.withSockAddr { address, length in
        unsafe Glibc.connect(descriptor, address, socklen_t(length))
      }
    }
  }
}

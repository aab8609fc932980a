internal import NIOCore
internal import NIOPosix
internal import RTPWire

/// Asks a server of TCP for a connection, for a library that does not say why it gets none.
package enum ServerInquiry {
  /// Tells `answer`, on an event loop, why `host` takes no connection at `port`; `nil` where it
  /// does.
  package static func ask(
    host: String, port: Int, _ answer: @escaping @Sendable (TransportError?) -> Void
  ) {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    eventLoop.execute {
      let connector = TCPConnector(
        host: host, port: port, sockets: UDPTransport.SocketConfiguration(), eventLoop: eventLoop)
      connector.connect(TCPConnector.Attempts()) { _ in }.whenComplete { result in
        switch result {
        case .success(let channel):
          channel.close(promise: nil)
          answer(nil)
        case .failure(let error as TransportError): answer(error)
        // SwiftNIO has waited long enough.
        case .failure:
          answer(.notConnected(address: "\(host.hostInURL):\(port)", reason: "no answer"))
        }
      }
    }
  }
}

import Glibc
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Transports

/// The other side of a transport under test: a socket on this machine.
final class FarEnd: Sendable {
  let address: SocketAddress
  /// What came in, and where from.
  let received = Record<(bytes: ByteBuffer, origin: SocketAddress)>()

  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
  private let parts: NIOLoopBoundBox<(socket: DatagramSocket, reader: DatagramReader)?>

  /// Opens a socket on `host`, on a port of the kernel's choice unless one is given.
  init(
    _ host: String = "127.0.0.1", port: Int = 0, pacer: ReadPacer = ReadPacer()
  ) async throws {
    let local = endpoint(host, port)
    let (eventLoop, received) = (self.eventLoop, self.received)
    let parts = NIOLoopBoundBox.makeBoxSendingValue(
      (socket: DatagramSocket, reader: DatagramReader)?.none, eventLoop: eventLoop)
    self.parts = parts
    address = try await eventLoop.flatSubmit {
      eventLoop.makeCompletedFuture {
        let socket = try DatagramSocket(family: local.family)
        try socket.bind(to: local)
        _ = socket.enlargeReceiveBuffer(to: 1 << 20)
        let address = try #require(socket.localAddress)
        let reader = DatagramReader(
          socket, as: .media, on: eventLoop, pacer: pacer,
          for: .init(
            datagram: { received.append(($0.bytes, $1)) }, readCompleted: { _ in },
            failed: { Issue.record("the far end failed: \($0)") }))
        parts.value = (socket, reader)
        return address
      }.flatMap { (address: SocketAddress) in
        (parts.value?.reader.start() ?? eventLoop.makeSucceededVoidFuture()).map { address }
      }
    }.get()
  }

  var port: Int { address.port ?? 0 }

  func send(_ datagrams: ByteBuffer..., to address: SocketAddress) async throws {
    try await eventLoop.submit { [parts] in
      for datagram in datagrams {
        #expect(parts.value?.socket.send(datagram, to: address) == .sent)
      }
    }.get()
  }

  /// Sends a datagram that may not arrive.
  func trySend(_ datagram: ByteBuffer, to address: SocketAddress) async throws
    -> DatagramSocket.SendOutcome?
  {
    try await eventLoop.submit { [parts] in parts.value?.socket.send(datagram, to: address) }.get()
  }

  /// Sends `count` packets as fast as they go, in portions that leave others a turn.
  func sendBurst(
    of count: Int, to address: SocketAddress
  ) async throws {
    for start in stride(from: 0, to: count, by: 1000) {
      let packets = (start..<min(start + 1000, count)).map {
        rtp(UInt16(truncatingIfNeeded: $0), payload: 1388)
      }
      try await eventLoop.submit { [parts] in
        for packet in packets { _ = parts.value?.socket.send(packet, to: address) }
      }.get()
    }
  }

  /// Another descriptor of the socket, for options that only tests need.
  func descriptor() async throws -> CInt {
    try await eventLoop.submit { [parts] in try #require(parts.value).socket.duplicate() }.get()
  }

  /// Sets an option of the socket.
  func set(_ level: CInt, _ name: CInt, _ value: CInt) async throws {
    let descriptor = try await descriptor()
    defer { Glibc.close(descriptor) }
    let size = socklen_t(MemoryLayout<CInt>.size)
    let status = unsafe withUnsafePointer(to: value) {
      unsafe setsockopt(descriptor, level, name, $0, size)
    }
    try #require(status == 0)
  }

  /// Frees the port; nothing is received or sent any more.
  func close() async throws {
    try await eventLoop.submit { [parts] in
      parts.value?.reader.stop()
      parts.value = nil
    }.get()
  }
}

extension UDPTransport {
  /// Where the transport receives, once it is open.
  func localAddress() async throws -> SocketAddress? {
    guard let text = await counters().localAddress else { return nil }
    let (host, port) = try SourceAddress.endpoint(text[...])
    return try host.map { try SocketAddress(ipAddress: $0, port: port) }
  }

  /// Waits until the counters are as they should be.
  @discardableResult
  func counters(
    within limit: Duration = .seconds(20), until isReached: (TransportCounters) -> Bool
  ) async throws -> TransportCounters {
    try await eventualValue(of: "other counters", within: limit) {
      let counters = await counters()
      return isReached(counters) ? counters : nil
    }
  }
}

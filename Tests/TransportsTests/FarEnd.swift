import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import Testing

@testable import Transports

/// Things that happen elsewhere, awaited by how many there are, with a deadline.
final class Record<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, any Error>)] = []
  }

  struct TimedOut: Error {
    let have: Int
    let wanted: Int
  }

  private let state = Mutex(State())

  var elements: [Element] { state.withLock { $0.elements } }

  func append(_ element: Element) {
    let ready = state.withLock { state in
      state.elements.append(element)
      let count = state.elements.count
      let ready = state.waiters.filter { $0.count <= count }
      state.waiters.removeAll { $0.count <= count }
      return ready.map(\.continuation)
    }
    for continuation in ready { continuation.resume() }
  }

  /// The first `count` elements, as soon as there are that many.
  func first(_ count: Int, within limit: Duration = .seconds(20)) async throws -> [Element] {
    let deadline = Task {
      try await Task.sleep(for: limit)
      let waiters = state.withLock { state in
        defer { state.waiters.removeAll() }
        return state.waiters
      }
      for waiter in waiters {
        waiter.continuation.resume(throwing: TimedOut(have: elements.count, wanted: waiter.count))
      }
    }
    defer { deadline.cancel() }
    try await withCheckedThrowingContinuation { continuation in
      let isReady = state.withLock { state in
        if state.elements.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
    return Array(elements.prefix(count))
  }
}

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
          delivering: .init(
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

  /// Frees the port; nothing is received or sent any more.
  func close() async throws {
    try await eventLoop.submit { [parts] in
      parts.value?.reader.stop()
      parts.value = nil
    }.get()
  }
}

/// Keeps what a transport delivers, and fails the test when something comes after the end.
final class RecordingSink: DatagramSink {
  let datagrams = Record<Datagram>()
  let ends = Record<TransportEnd>()
  let completedReads = Record<Instant>()
  let descriptions = Record<[MediaDescription]>()

  func describe(_ media: [MediaDescription]) {
    if !datagrams.elements.isEmpty { Issue.record("a description after a datagram") }
    descriptions.append(media)
  }

  func receive(_ datagram: Datagram) {
    if !ends.elements.isEmpty { Issue.record("a datagram after the end") }
    datagrams.append(datagram)
  }

  var authenticates: Bool { false }

  func admit(_ datagram: Datagram) -> Bool {
    receive(datagram)
    return true
  }

  func readCompleted(at now: Instant) {
    if !ends.elements.isEmpty { Issue.record("a completed read after the end") }
    completedReads.append(now)
  }

  func transportEnded(_ end: TransportEnd) {
    if !ends.elements.isEmpty { Issue.record("a second end") }
    ends.append(end)
  }
}

/// Takes everything and keeps nothing.
final class IndifferentSink: DatagramSink {
  func describe(_ media: [MediaDescription]) {}
  func receive(_ datagram: Datagram) {}
  var authenticates: Bool { false }
  func admit(_ datagram: Datagram) -> Bool { true }
  func readCompleted(at now: Instant) {}
  func transportEnded(_ end: TransportEnd) {}
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
    let deadline = ContinuousClock.now + limit
    while true {
      let counters = await counters()
      if isReached(counters) { return counters }
      try #require(ContinuousClock.now < deadline, "the counters stay at \(counters)")
      try await Task.sleep(for: .milliseconds(2))
    }
  }
}

import NIOCore
import RTPWire
import Synchronization
import Transports

/// The transport of the moment, and what came of those before it.
///
/// Each transport has a sink of its own, so that nothing of a transport that was given up reaches
/// the stream any more.
final class Connection: Sendable {
  private struct State {
    /// `nil` between two connections.
    var transport: (any RTPTransport)?
    var sink: ConnectionSink
    var isFirst = true
    var status = ConnectionStatus()
    var earlier = TransportCounters()
    var isClosed = false
  }

  private let driver: StreamDriver
  private let began = Instant.now
  private let state: Mutex<State>

  init(first transport: any RTPTransport, driver: StreamDriver) {
    self.driver = driver
    state = Mutex(State(transport: transport, sink: ConnectionSink(driver)))
  }

  var status: ConnectionStatus { state.withLock(\.status) }

  func counters() async -> TransportCounters {
    let (transport, earlier) = state.withLock { ($0.transport, $0.earlier) }
    return await transport?.counters().added(to: earlier) ?? earlier
  }

  /// Opens the transport and starts the clocks that run out when nothing comes.
  func open() async throws {
    let (transport, sink) = state.withLock { ($0.transport, $0.sink) }
    guard let transport else { return }
    await driver.expectMedia { [weak self] now in self?.noteMedia(at: now) }
    try await transport.open(delivering: sink)
    driver.start()
    state.withLock { state in
      if !state.isFirst { state.status.reconnects += 1 }
      state.isFirst = false
    }
  }

  private func noteMedia(at now: Instant) {
    state.withLock { $0.status.endGap(at: began.nanoseconds(to: now)) }
  }

  /// How long media has flowed over the connection of the moment.
  func timeOfMedia() async -> Duration { await driver.timeOfMedia() }

  /// Gives the transport up; nothing of it is delivered any more.
  func lose(because reason: EndReason, until wait: Duration) async {
    let (transport, sink) = state.withLock { ($0.transport, $0.sink) }
    sink.disconnect()
    let last = await driver.disconnect() ?? began
    transport?.close()
    let counters = await transport?.counters() ?? TransportCounters()
    state.withLock { state in
      state.earlier = counters.added(to: state.earlier)
      state.transport = nil
      state.isFirst = false
      state.status.begin(
        ConnectionStatus.Gap(start: began.nanoseconds(to: last), reason: reason.words))
      state.status.nextAttempt = Instant.now.advanced(by: wait)
    }
  }

  func replace(by transport: any RTPTransport) {
    let isClosed = state.withLock { state in
      state.transport = transport
      state.sink = ConnectionSink(driver)
      state.status.nextAttempt = nil
      return state.isClosed
    }
    if isClosed { transport.close() }
  }

  func close() {
    let transport = state.withLock { state in
      state.isClosed = true
      return state.transport
    }
    transport?.close()
  }
}

/// Passes on what one transport delivers, for as long as it is the one of the moment.
final class ConnectionSink: DatagramSink {
  private let driver: StreamDriver
  private let isConnected = Atomic(true)

  init(_ driver: StreamDriver) { self.driver = driver }

  func disconnect() { isConnected.store(false, ordering: .relaxed) }

  func describe(_ media: [MediaDescription]) {
    if isConnected.load(ordering: .relaxed) { driver.describe(media) }
  }

  func receive(_ datagram: Datagram) {
    if isConnected.load(ordering: .relaxed) { driver.receive(datagram) }
  }

  func readCompleted(at now: Instant) {
    if isConnected.load(ordering: .relaxed) { driver.readCompleted(at: now) }
  }

  func transportEnded(_ end: TransportEnd) {
    if isConnected.load(ordering: .relaxed) { driver.transportEnded(end) }
  }
}

extension EndReason {
  /// The reason in a few words.
  fileprivate var words: String {
    switch self {
    case .cannotOpen(let error), .transportFailed(let error), .unsupportedMedia(let error),
      .decoderFailed(let error):
      "\(error)"
    case .noMedia, .mediaLost: "no media came"
    case .goodbye: "the sender said goodbye"
    default: "the server ended the stream"
    }
  }
}

import BlockingIO
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import Transports

/// A transport that plays one connection from memory: opens or fails, delivers, and ends or falls
/// silent.
final class ScriptedTransport: RTPTransport {
  struct Script: Sendable {
    /// What opening fails with.
    var fault: (any Error & Sendable)?
    /// Whether opening takes forever.
    var hangs = false
    var media: [MediaDescription] = []
    var datagrams: [Datagram] = []
    /// How it ends after the last datagram; `nil` is silence.
    var end: TransportEnd? = .ended
    var diagnostics: [TransportDiagnostic] = []
    var isPassive = false
    /// With the recorded clock, datagrams keep the times that they have.
    var clock = ArrivalClock.monotonic
    var takesReports = false
    var longestSilence: Duration?
    /// Datagrams that one read brings; `nil` brings all of them in one.
    var readSize: Int?
  }

  let eventLoop: any EventLoop
  private let script: Script
  private let sink = Mutex<(any DatagramSink)?>(nil)
  private let opening: EventLoopPromise<Void>
  private let sent = Mutex<[ByteBuffer]>([])
  private let closed = Mutex(false)
  private let holding = Mutex((isHeld: false, count: 0))

  init(_ script: Script) {
    eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    self.script = script
    opening = eventLoop.makePromise()
  }

  var clock: ArrivalClock { script.clock }
  var isPassive: Bool { script.isPassive }
  var longestSilence: Duration? { script.longestSilence }
  var takesReports: Bool { script.takesReports }
  /// What was sent back.
  var feedback: [ByteBuffer] { sent.withLock { $0 } }
  var isClosed: Bool { closed.withLock { $0 } }
  /// Whether it has ended, or not begun.
  var hasEnded: Bool { sink.withLock { $0 == nil } }
  /// How often it was told to hold the far end.
  var holds: Int { holding.withLock(\.count) }

  func open(delivering sink: any DatagramSink) async throws {
    if script.hangs { return try await opening.futureResult.get() }
    opening.succeed()
    if let fault = script.fault { throw fault }
    try await eventLoop.submit { [self] in
      if !script.media.isEmpty { sink.describe(script.media) }
      self.sink.withLock { $0 = sink }
      read(script.datagrams[...])
    }.get()
  }

  private func read(_ datagrams: ArraySlice<Datagram>) {
    guard let sink = sink.withLock({ $0 }) else { return }
    guard !holding.withLock(\.isHeld) else {
      return eventLoop.execute { [self] in read(datagrams) }
    }
    let next = datagrams.prefix(script.readSize ?? datagrams.count)
    for datagram in next {
      var datagram = datagram
      if script.clock.isLive { datagram.arrival = .now }
      sink.receive(datagram)
    }
    sink.readCompleted(at: .now)
    guard next.endIndex == datagrams.endIndex else {
      return eventLoop.execute { [self] in read(datagrams[next.endIndex...]) }
    }
    guard let end = script.end else { return }
    self.sink.withLock { $0 = nil }
    sink.transportEnded(end)
  }

  func holdReading(_ isHeld: Bool) {
    holding.withLock { holding in
      holding.isHeld = isHeld
      if isHeld { holding.count += 1 }
    }
  }

  func sendFeedback(_ bytes: ByteBuffer, track: Int) { sent.withLock { $0.append(bytes) } }

  func counters() async -> TransportCounters {
    var counters = TransportCounters()
    counters.delivered = UInt64(script.datagrams.count)
    counters.diagnostics = script.diagnostics
    return counters
  }

  func close() {
    if script.hangs { opening.fail(TransportError.closed) }
    closed.withLock { $0 = true }
    eventLoop.execute { [self] in
      let sink = sink.withLock { sink in
        defer { sink = nil }
        return sink
      }
      sink?.transportEnded(.closed)
    }
  }
}

/// Hands out transports by their scripts, one for each connection; the last script stays.
final class ScriptedSource: Sendable {
  private let state: Mutex<(scripts: [ScriptedTransport.Script], made: [ScriptedTransport])>

  init(_ scripts: [ScriptedTransport.Script]) { state = Mutex((scripts, [])) }

  var transports: [ScriptedTransport] { state.withLock(\.made) }

  func make() -> any RTPTransport {
    state.withLock { state in
      let index = min(state.made.count, state.scripts.count - 1)
      let transport = ScriptedTransport(state.scripts[index])
      state.made.append(transport)
      return transport
    }
  }
}

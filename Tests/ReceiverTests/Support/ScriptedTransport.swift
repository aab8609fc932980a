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
    /// Whether opening takes for ever.
    var hangs = false
    var media: [MediaDescription] = []
    var datagrams: [Datagram] = []
    /// How it ends behind the last datagram; `nil` is silence.
    var end: TransportEnd? = .ended
    var diagnostics: [String] = []
    var isPassive = false
    var takesReports = false
  }

  let eventLoop: any EventLoop
  private let script: Script
  private let sink = Mutex<(any DatagramSink)?>(nil)
  private let opening: EventLoopPromise<Void>
  private let sent = Mutex<[ByteBuffer]>([])
  private let closed = Mutex(false)

  init(_ script: Script) {
    eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    self.script = script
    opening = eventLoop.makePromise()
  }

  var isPassive: Bool { script.isPassive }
  var endsInSilence: Bool { false }
  var takesReports: Bool { script.takesReports }
  /// What was sent back.
  var feedback: [ByteBuffer] { sent.withLock { $0 } }
  var isClosed: Bool { closed.withLock { $0 } }

  func open(delivering sink: any DatagramSink) async throws {
    if script.hangs { return try await opening.futureResult.get() }
    opening.succeed()
    if let fault = script.fault { throw fault }
    try await eventLoop.submit { [self] in
      if !script.media.isEmpty { sink.describe(script.media) }
      for datagram in script.datagrams {
        var datagram = datagram
        datagram.arrival = .now
        sink.receive(datagram)
      }
      sink.readCompleted(at: .now)
      if let end = script.end {
        sink.transportEnded(end)
      } else {
        self.sink.withLock { $0 = sink }
      }
    }.get()
  }

  func holdReading(_ isHeld: Bool) {}

  func sendFeedback(_ bytes: ByteBuffer) { sent.withLock { $0.append(bytes) } }

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

extension Instant {
  static var now: Instant {
    Instant(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
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

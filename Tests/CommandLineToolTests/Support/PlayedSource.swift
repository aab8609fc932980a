import BlockingIO
import NIOCore
import RTPWire
import Synchronization
import TestSupport
import Transports

@testable import CommandLineTool

/// Sources `played://NAME` for cameras of a fleet, whose runs get what is said here, one after
/// another; the last of it stays.
final class PlayedSource: Sendable {
  enum Act: Sendable {
    /// No transport is made of it.
    case notMade(any Error)
    /// What is looked at hangs until ``letGo()``.
    case hung
    case notOpened(any Error)
    /// Packets come, and then the connection breaks.
    case broken(any Error)
    /// Packets come, and then nothing.
    case silent
  }

  /// What the packets bring, which is of no codec: its first bit is set.
  static let payload = "½ a picture"

  /// The sources that were opened, and those that hung.
  let opened = Record<String>()
  let hung = Record<String>()
  private let acts: Mutex<[String: ArraySlice<Act>]>
  private let isFree = Monitor(false)

  init(_ acts: [String: [Act]]) { self.acts = Mutex(acts.mapValues { $0[...] }) }

  /// Runs `body` with a tool that knows the sources.
  func run<Result>(_ body: () async throws -> Result) async throws -> Result {
    var tool = CommandLineTool()
    var kind = TransportKind(name: "played", schemes: ["played"]) { [self] source, _, eventLoop in
      try make(source, on: eventLoop)
    }
    kind.hasLogin = true
    tool.transports = TransportCatalogue(tool.transports.kinds + [kind])
    return try await CommandLineTool.$current.withValue(tool) { try await body() }
  }

  func letGo() { isFree.update { $0 = true } }

  private func make(_ source: String, on eventLoop: any EventLoop) throws -> PlayedTransport {
    // Who only reads the options is no run.
    if StandardError.speaker != nil {
      switch next(of: source, where: \.isBeforeOpening) {
      case .notMade(let error): throw error
      case .hung:
        hung.append(source)
        isFree.wait { $0 ? () : nil }
      default: break
      }
    }
    return PlayedTransport(on: eventLoop) { [self] in
      let act = next(of: source) { !$0.isBeforeOpening }
      if case .notOpened(let error)? = act { throw error }
      opened.append(source)
      if case .broken(let error)? = act { return error }
      return nil
    }
  }

  /// What is played next, if it is such an act.
  private func next(of source: String, where isMeant: (Act) -> Bool) -> Act? {
    acts.withLock { acts in
      guard let act = acts[source]?.first, isMeant(act) else { return nil }
      if acts[source]?.count ?? 0 > 1 { acts[source]?.removeFirst() }
      return act
    }
  }
}

extension PlayedSource.Act {
  fileprivate var isBeforeOpening: Bool {
    switch self {
    case .notMade, .hung: true
    case .notOpened, .broken, .silent: false
    }
  }
}

private final class PlayedTransport: RTPTransport {
  let eventLoop: any EventLoop
  let clock = ArrivalClock.monotonic
  let isPassive = false
  let takesReports = false
  let longestSilence: Duration? = nil
  /// Throws where it cannot be opened, and returns why it breaks off.
  private let begin: @Sendable () throws -> (any Error)?
  private let sink = Mutex<(any DatagramSink)?>(nil)
  private let delivered = Mutex<UInt64>(0)

  init(on eventLoop: any EventLoop, begin: @escaping @Sendable () throws -> (any Error)?) {
    (self.eventLoop, self.begin) = (eventLoop, begin)
  }

  func open(delivering sink: any DatagramSink) async throws {
    let failure = try begin()
    try await eventLoop.submit { [self] in
      self.sink.withLock { $0 = sink }
      for number in 0..<3 as Range<UInt8> {
        let header: [UInt8] = [0x80, 96, 0, number, 0, 0, 0, number, 0, 0, 0, 1]
        sink.receive(
          Datagram(bytes: ByteBuffer(bytes: header + PlayedSource.payload.utf8), arrival: .now))
        delivered.withLock { $0 += 1 }
      }
      sink.readCompleted(at: .now)
      if let failure { end(.failed(failure)) }
    }.get()
  }

  private func end(_ end: TransportEnd) {
    let sink = sink.withLock { sink in
      defer { sink = nil }
      return sink
    }
    sink?.transportEnded(end)
  }

  func close() { eventLoop.execute { [self] in end(.closed) } }

  func counters() async -> TransportCounters {
    var counters = TransportCounters()
    counters.delivered = delivered.withLock(\.self)
    return counters
  }

  func sendFeedback(_ bytes: ByteBuffer, track: Int) {}

  func holdReading(_ isHeld: Bool) {}
}

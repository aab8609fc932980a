internal import NIOCore
internal import NIOPosix
internal import RTPWire
internal import Synchronization
internal import Transports

/// One transport with its far end and its sink, for its whole life.
final class Fixture: Sendable {
  /// The ending that is prepared for the transport.
  enum Ending: Sendable, Hashable { case open, finished, failed }

  let context: CheckContext
  let farEnd: any FarEnd
  let transport: any RTPTransport
  let collector: Collector
  let eventLoop: any EventLoop
  /// How many packets were requested so far.
  private let planned = Mutex(0)
  /// How many of these the far end has sent.
  private let handed = Mutex(0)
  private let hasOpened = Mutex(false)
  private let reference: TransportReference
  private let isCutOff: Bool
  private let lossClause: ConformanceClause

  var results: ConformanceResults { context.results }
  var carrier: Carrier { context.carrier }

  /// Starts a far end and makes a transport for it.
  ///
  /// If packets are prepared, `sizes` are those of all packets that will be sent, and the end is
  /// normal or, with ``Ending/failed``, a failure. In a fixture that is cut off, packets may be
  /// missing at the end.
  init(
    _ context: CheckContext, _ behaviour: FarEndBehaviour = .orderly, sizes: [Int] = [],
    ending: Ending = .open,
    isCutOff: Bool = false, lossBreaks lossClause: ConformanceClause = .completeness,
    expectsForeign: Bool = false, holding: Int = 0,
    reaction: (@Sendable (Collector.Call, Collector.Collected, any RTPTransport) -> Void)? = nil
  ) async throws {
    self.context = context
    self.isCutOff = isCutOff
    self.lossClause = lossClause
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    self.eventLoop = eventLoop
    let reference = TransportReference()
    self.reference = reference
    collector = Collector(
      context.packets, on: eventLoop, context.results,
      expectsForeign: expectsForeign, holding: holding,
      reaction: { call, collected in
        if let reaction, let transport = reference.transport {
          reaction(call, collected, transport)
        }
      })
    farEnd = try await context.subject.startFarEnd(behaviour)
    do {
      if context.subject.carrier.isPrepared {
        collector.expect(sizes)
        planned.withLock { $0 = sizes.count }
        try await farEnd.send(
          sizes.enumerated().map { context.packets.packet($0.offset, size: $0.element) })
        if ending == .failed { try await farEnd.fail() } else { try await farEnd.finish() }
      }
      transport = try farEnd.makeTransport(on: eventLoop)
      reference.transport = transport
      collector.goes(by: transport.clock)
    } catch {
      await farEnd.close()
      throw error
    }
  }

  // MARK: - Opening

  /// Opens the transport and returns the result; `nil` after the deadline.
  func open(within limit: Duration? = nil) async -> Result<Void, any Error>? {
    collector.note(.opened)
    let result = await outcome(within: limit ?? carrier.deadline) { [self] in
      do {
        try await transport.open(delivering: collector)
        return Result<Void, any Error>.success(())
      } catch {
        collector.note(.refused)
        checkReason(error)
        return .failure(error)
      }
    }
    if case .success = result { hasOpened.withLock { $0 = true } }
    return result
  }

  /// Opens a transport that is closed meanwhile; one that is known to hang is not waited for.
  func openUntilClosed() async -> Result<Void, any Error>? {
    await open(within: results.isViolated(.closeAnywhere) ? Self.shortWait : nil)
  }

  /// Opens a transport that must open.
  func openForSure() async throws {
    switch await open() {
    case .success: break
    case .failure(let error): throw FixtureError(description: "open threw: \(error)")
    case nil: throw FixtureError(description: "open did not return within \(carrier.deadline)")
    }
  }

  private func checkReason(_ error: any Error) {
    results.examined(.refusedOpening)
    if "\(error)".isEmpty { results.violated(.refusedOpening, "an error without a description") }
  }

  // MARK: - Sending

  /// How many packets the far end has sent.
  var sent: Int { handed.withLock { $0 } }

  /// Sends packets of these sizes on a track, no faster than the carrier allows.
  func send(_ sizes: [Int], onTrack track: Int = 0) async throws {
    guard !carrier.isPrepared else { return }
    let first = planned.withLock { planned in
      defer { planned += sizes.count }
      return planned
    }
    collector.expect(sizes, onTrack: track)
    var sent = 0
    while sent < sizes.count {
      var batch: [ByteBuffer] = []
      var weight = 0
      while sent + batch.count < sizes.count, batch.count < Self.batch {
        let size = sizes[sent + batch.count]
        weight += size + Self.packetWeight
        if !batch.isEmpty, weight > carrier.burst ?? Self.batchWeight { break }
        batch.append(context.packets.packet(first + sent + batch.count, size: size))
      }
      let portion = batch
      let result = await outcome(within: carrier.deadline * 3) { [farEnd] in
        await Result { try await farEnd.send(portion, onTrack: track) }
      }
      guard let result else { throw FixtureError(description: "the far end could not send") }
      try result.get()
      sent += batch.count
      handed.withLock { $0 += portion.count }
      // More would be lost, so the next ones are sent when these have arrived.
      if carrier.burst != nil { await awaitDelivery(of: first + sent) }
    }
  }

  /// Waits for `count` packets, and reports which are missing.
  func awaitDelivery(of count: Int) async {
    var last = -1
    while true {
      let collected = collector.collected
      guard collected.received < count, collected.ends.isEmpty else { break }
      // A slow transport loses nothing while it makes progress.
      guard collected.received > last else { break }
      last = collected.received
      let limit = results.isViolated(lossClause) ? Self.shortWait : carrier.deadline
      if await collector.wait(within: limit, until: { $0.received >= count || !$0.ends.isEmpty }) {
        break
      }
    }
    guard !isCutOff, collector.collected.received < count else { return }
    let missing = collector.missing(of: count)
    results.lost(
      lossClause,
      "of \(count) packets \(missing.count) did not come: \(missing.prefix(5)), …")
  }

  /// Waits for everything sent, and for the completion of the last read.
  func awaitAll() async {
    await awaitDelivery(of: planned.withLock { $0 })
    let collected = collector.collected
    guard collected.ends.isEmpty else {
      // A transport that ends by itself, such as a file's, may have ended already.
      if !collected.isReadOpen { results.examined(.completedReads) }
      return
    }
    let limit = results.isViolated(.completedReads) ? Self.shortWait : carrier.deadline
    let isComplete = await collector.wait(within: limit) {
      !$0.isReadOpen || !$0.ends.isEmpty
    }
    if !isComplete {
      results.violated(.completedReads, "datagrams came, and no completed read after them")
    }
    results.examined(.completedReads)
  }

  // MARK: - Ending

  /// Waits for the end of an opened transport; `nil` after the deadline.
  func awaitEnd(within limit: Duration? = nil) async -> TransportEnd? {
    // Once missing ends are known, long waits are pointless.
    let known = results.isViolated(.oneEnd) || results.isViolated(.closeAnywhere)
    let limit = known ? Self.shortWait : limit ?? carrier.endDeadline
    if await collector.wait(within: limit, until: { !$0.ends.isEmpty }) {
      return collector.collected.ends.first
    }
    return nil
  }

  /// Closes the transport in any state, checks its end, and releases the fixture.
  ///
  /// - Parameter isQuiet: whether only `close()` can have ended it.
  func tearDown(isQuiet: Bool = true) async {
    let before = collector.collected.ends.first
    transport.close()
    if hasOpened.withLock({ $0 }) {
      switch await awaitEnd(within: carrier.deadline) {
      case nil: await closeOnLoop()
      case .closed: break
      case .some(let end) where isQuiet && before == nil && !carrier.isPrepared:
        results.violated(.closing, "close() was reported as \(end)")
      default: break
      }
    }
    await settle()
    checkCounters(await counters())
    results.examined(.oneEnd, .nothingAfterEnd, .eventLoop, .counters)
    await farEnd.close()
    reference.transport = nil
  }

  /// Expects no end from a transport that should not have opened.
  func disregardOpening() { hasOpened.withLock { $0 = false } }

  /// Distinguishes a transport that ignored `close()` from one that reports no end.
  func closeOnLoop() async {
    _ = await outcome(within: carrier.deadline) { [eventLoop, transport] in
      try? await eventLoop.submit { transport.close() }.get()
    }
    if await awaitEnd(within: carrier.deadline) == nil {
      results.violated(.oneEnd, "no end came after close()")
    } else {
      results.violated(.closeAnywhere, "close() on another thread than the loop's had no effect")
    }
  }

  /// Lets the loop turn a few times, so that late calls are seen.
  func settle() async {
    for _ in 0..<4 {
      _ = await outcome(within: carrier.deadline) { [eventLoop] in
        try? await eventLoop.scheduleTask(in: .milliseconds(4)) {}.futureResult.get()
      }
    }
  }

  // MARK: - Counters

  func counters() async -> TransportCounters? {
    let counters = await outcome(within: carrier.deadline) { [transport] in
      await transport.counters()
    }
    if counters == nil { results.violated(.counters, "counters() did not return") }
    return counters
  }

  /// Compares the counters with what came, when nothing is in flight.
  func checkCounters(_ counters: TransportCounters?) {
    guard let counters else { return }
    let collected = collector.collected
    if counters.delivered != UInt64(collected.delivered) {
      results.violated(
        .counters, "delivered is \(counters.delivered), but \(collected.delivered) datagrams came")
    }
    if counters.deliveredBytes != UInt64(collected.deliveredBytes) {
      results.violated(
        .counters,
        "deliveredBytes is \(counters.deliveredBytes), but \(collected.deliveredBytes) bytes came")
    }
  }

  static let shortWait = Duration.milliseconds(50)
  /// What a packet occupies in a carrier's buffers beside its bytes.
  private static let packetWeight = 1 << 10
  /// Packets and bytes handed to the far end at once.
  private static let batch = 256
  private static let batchWeight = 1 << 20
}

/// Why a case could not be run.
struct FixtureError: Error, CustomStringConvertible {
  let description: String
}

/// The transport, for reactions during its calls; released with the fixture.
private final class TransportReference: Sendable {
  private let held = Mutex<(any RTPTransport)?>(nil)

  var transport: (any RTPTransport)? {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
}

extension Result where Failure == any Error {
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}

internal import NIOCore
internal import NIOPosix
internal import RTPWire
internal import Transports

/// Cases about `close()`.
extension ConformanceCase {
  static func closing(seed: UInt64) -> [ConformanceCase] {
    var cases = Manner.allCases.flatMap { manner in
      Moment.allCases.map { moment in
        ConformanceCase(clause: .closeAnywhere, needs: moment.needs) { context in
          try await close(moment, manner, context)
        }
      }
    }
    cases.append(
      ConformanceCase(clause: .closeAnywhere) { try await closeWhileOpening($0, seed: seed) })
    cases.append(
      ConformanceCase(
        clause: .closeAnywhere, kind: .waiting, needs: [.silence], body: cancelledOpening))
    return cases
  }

  /// When it is called.
  private enum Moment: String, Sendable, CaseIterable {
    case beforeOpen, open, ended, failed
    case insideReceive, insideCompletedRead, insideEnd, insideDescription

    var needs: [Carrier.Capability] {
      switch self {
      case .ended, .insideEnd: [.orderlyEnd]
      case .failed: [.failure]
      case .insideDescription: [.description]
      default: []
      }
    }

    var call: Collector.Call? {
      switch self {
      case .insideReceive: .received
      case .insideCompletedRead: .completedRead
      case .insideEnd: .ended
      case .insideDescription: .described
      default: nil
      }
    }

    /// What requires a call that may never come.
    var clause: ConformanceClause? {
      switch self {
      case .insideCompletedRead: .completedReads
      case .insideEnd: .oneEnd
      case .insideDescription: .description
      default: nil
      }
    }

    var ending: Fixture.Ending {
      switch self {
      case .ended, .insideEnd: .finished
      case .failed: .failed
      default: .open
      }
    }
  }

  /// From where, and how often.
  private enum Manner: String, Sendable, CaseIterable {
    case onTheLoop, twice, fromEverywhere
  }

  private static func close(
    _ moment: Moment, _ manner: Manner, _ context: CheckContext
  ) async throws {
    let sizes = [Int](repeating: max(300, context.carrier.packetSizes.lowerBound), count: 50)
    let observed = CloseRecord()
    let fixture = try await Fixture(context, sizes: sizes, ending: moment.ending, isCutOff: true) {
      call, collected, transport in
      guard call == moment.call else { return }
      close(transport, manner)
      observed.collector?.note(.closed)
      observed.isClosed = true
    }
    observed.collector = fixture.collector
    defer { observed.collector = nil }
    guard moment != .beforeOpen else {
      await close(fixture, manner)
      if case .success = await fixture.open() {
        context.results.violated(.opensOnce, "an open after close did not throw")
        fixture.disregardOpening()
      }
      await fixture.settle()
      return await finish(fixture, context)
    }
    let opened = await fixture.open()
    if case .failure(let error) = opened, moment != .insideDescription {
      throw FixtureError(description: "open threw \(error)")
    }
    // Packets are in flight while it closes; whether they arrive does not matter.
    let sending = Task { [fixture] in
      try? await fixture.send(Array(sizes.prefix(10)))
      if moment.ending == .finished { try? await fixture.farEnd.finish() }
      if moment.ending == .failed { try? await fixture.farEnd.fail() }
      if moment.ending == .open { try? await fixture.send(Array(sizes.dropFirst(10))) }
    }
    switch moment {
    case .ended, .failed: _ = await fixture.awaitEnd()
    case .open:
      _ = await fixture.collector.wait(within: context.carrier.deadline) { $0.delivered > 0 }
    default:
      // A missing call belongs to another clause, and is not waited for once that is known.
      let isMissing = moment.clause.map { context.results.isViolated($0) } ?? false
      let limit = isMissing ? Fixture.shortWait : context.carrier.deadline
      _ = await fixture.collector.wait(within: limit) { _ in observed.isClosed }
    }
    if !observed.isClosed { await close(fixture, manner) }
    if case .success = opened, await fixture.awaitEnd() == nil { await fixture.closeOnLoop() }
    sending.cancel()
    await finish(fixture, context)
  }

  private static func finish(_ fixture: Fixture, _ context: CheckContext) async {
    await fixture.tearDown(isQuiet: false)
    context.results.examined(.closeAnywhere, .closing)
  }

  /// Closes during a call into the sink.
  private static func close(_ transport: any RTPTransport, _ manner: Manner) {
    transport.close()
    switch manner {
    case .onTheLoop: break
    case .twice: transport.close()
    case .fromEverywhere:
      for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
        loop.execute { transport.close() }
      }
    }
  }

  /// Closes outside any call.
  private static func close(_ fixture: Fixture, _ manner: Manner) async {
    let (transport, collector) = (fixture.transport, fixture.collector)
    switch manner {
    case .onTheLoop:
      try? await fixture.eventLoop.submit {
        transport.close()
        collector.note(.closed)
      }.get()
    case .twice:
      transport.close()
      transport.close()
    case .fromEverywhere:
      let result: Void? = await outcome(within: fixture.carrier.deadline) {
        await withTaskGroup(of: Void.self) { group in
          for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            group.addTask { try? await loop.submit { transport.close() }.get() }
            group.addTask { transport.close() }
          }
        }
      }
      if result == nil { fixture.results.violated(.closeAnywhere, "close() did not return") }
    }
  }

  /// Closes at random moments of the opening.
  private static func closeWhileOpening(_ context: CheckContext, seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    for round in 0..<16 {
      let fixture = try await Fixture(
        context, sizes: [context.carrier.packetSizes.lowerBound], isCutOff: true)
      let opening = Task { await fixture.openUntilClosed() }
      // Opening on one machine takes some milliseconds at most.
      let moment = round == 0 ? 0 : Int.random(in: 0...4000, using: &random)
      if moment > 0 { try await Task.sleep(for: .microseconds(moment)) }
      fixture.transport.close()
      if await opening.value == nil {
        context.results.violated(
          .closeAnywhere, "open did not return although close() was called \(moment) µs after it")
      }
      await fixture.tearDown(isQuiet: !context.carrier.isPrepared)
    }
    context.results.examined(.closeAnywhere, .closing)
  }

  /// A task that opens is cancelled, which has no effect; then the transport is closed.
  private static func cancelledOpening(_ context: CheckContext) async throws {
    let fixture = try await Fixture(context, .silent)
    let collector = fixture.collector
    collector.note(.opened)
    let opening = Task { [transport = fixture.transport] in
      let result = await Result { try await transport.open(delivering: collector) }
      if case .failure = result { collector.note(.refused) }
    }
    // The opening continues, waits for the far end, or is done.
    await fixture.settle()
    opening.cancel()
    await fixture.settle()
    fixture.transport.close()
    if await outcome(within: context.carrier.deadline, of: { await opening.value }) == nil {
      context.results.violated(
        .closeAnywhere, "open did not return, although its task was cancelled and close() called")
    }
    await fixture.tearDown(isQuiet: false)
  }
}

internal import NIOCore
internal import NIOPosix
internal import Transports

/// Scenes about `close()`.
extension Scene {
  static func closing(seed: UInt64) -> [Scene] {
    var scenes = Manner.allCases.flatMap { manner in
      Moment.allCases.map { moment in
        Scene(clause: .closeAnywhere, needs: moment.needs) { house in
          try await close(moment, manner, house)
        }
      }
    }
    scenes.append(
      Scene(clause: .closeAnywhere) { try await closeWhileOpening($0, seed: seed) })
    scenes.append(
      Scene(clause: .closeAnywhere, kind: .patient, needs: [.silence], perform: cancelledOpening))
    return scenes
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

    var call: Observer.Call? {
      switch self {
      case .insideReceive: .received
      case .insideCompletedRead: .completedRead
      case .insideEnd: .ended
      case .insideDescription: .described
      default: nil
      }
    }

    var ending: Stage.Ending {
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
    _ moment: Moment, _ manner: Manner, _ house: Stage.House
  ) async throws {
    let sizes = [Int](repeating: max(300, house.carrier.packetSizes.lowerBound), count: 50)
    let observed = ClosedNote()
    let stage = try await Stage(house, sizes: sizes, ending: moment.ending, isCutOff: true) {
      call, sight, transport in
      guard call == moment.call else { return }
      close(transport, manner)
      observed.observer?.note(.closed)
      observed.isClosed = true
    }
    observed.observer = stage.observer
    defer { observed.observer = nil }
    guard moment != .beforeOpen else {
      await close(stage, manner)
      if case .success = await stage.open() {
        house.journal.violated(.opensOnce, "an open after close did not throw")
        stage.disregardOpening()
      }
      await stage.settle()
      return await finish(stage, house)
    }
    let opened = await stage.open()
    if case .failure(let error) = opened, moment != .insideDescription {
      throw StageError(description: "open threw \(error)")
    }
    // Packets are in flight while it closes; whether they arrive does not matter.
    let sending = Task { [stage] in
      try? await stage.send(Array(sizes.prefix(10)))
      if moment.ending == .finished { try? await stage.farEnd.finish() }
      if moment.ending == .failed { try? await stage.farEnd.fail() }
      if moment.ending == .open { try? await stage.send(Array(sizes.dropFirst(10))) }
    }
    switch moment {
    case .ended, .failed: _ = await stage.awaitEnd()
    case .open: _ = await stage.observer.wait(within: house.carrier.deadline) { $0.delivered > 0 }
    default:
      // A missing call belongs to another clause.
      _ = await stage.observer.wait(within: house.carrier.deadline) { _ in observed.isClosed }
    }
    if !observed.isClosed { await close(stage, manner) }
    if case .success = opened, await stage.awaitEnd() == nil { await stage.closeOnLoop() }
    sending.cancel()
    await finish(stage, house)
  }

  private static func finish(_ stage: Stage, _ house: Stage.House) async {
    await stage.dismantle(isQuiet: false)
    house.journal.examined(.closeAnywhere, .closing)
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
  private static func close(_ stage: Stage, _ manner: Manner) async {
    let (transport, observer) = (stage.transport, stage.observer)
    switch manner {
    case .onTheLoop:
      try? await stage.eventLoop.submit {
        transport.close()
        observer.note(.closed)
      }.get()
    case .twice:
      transport.close()
      transport.close()
    case .fromEverywhere:
      let result: Void? = await outcome(within: stage.carrier.deadline) {
        await withTaskGroup(of: Void.self) { group in
          for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            group.addTask { try? await loop.submit { transport.close() }.get() }
            group.addTask { transport.close() }
          }
        }
      }
      if result == nil { stage.journal.violated(.closeAnywhere, "close() did not return") }
    }
  }

  /// Closes at random moments of the opening.
  private static func closeWhileOpening(_ house: Stage.House, seed: UInt64) async throws {
    var random = SplitMix(seed: seed)
    for round in 0..<16 {
      let stage = try await Stage(
        house, sizes: [house.carrier.packetSizes.lowerBound], isCutOff: true)
      let opening = Task { await stage.open() }
      // Opening on one machine takes some milliseconds at most.
      let moment = round == 0 ? 0 : Int.random(in: 0...4000, using: &random)
      if moment > 0 { try await Task.sleep(for: .microseconds(moment)) }
      stage.transport.close()
      if await opening.value == nil {
        house.journal.violated(
          .closeAnywhere, "open did not return although close() was called \(moment) µs after it")
      }
      await stage.dismantle(isQuiet: !house.carrier.isPrepared)
    }
    house.journal.examined(.closeAnywhere, .closing)
  }

  /// A task that opens is cancelled, which has no effect; then the transport is closed.
  private static func cancelledOpening(_ house: Stage.House) async throws {
    let stage = try await Stage(house, .silent)
    let observer = stage.observer
    observer.note(.opened)
    let opening = Task { [transport = stage.transport] in
      let result = await Result { try await transport.open(delivering: observer) }
      if case .failure = result { observer.note(.refused) }
    }
    // The opening continues, waits for the far end, or is done.
    await stage.settle()
    opening.cancel()
    await stage.settle()
    stage.transport.close()
    if await outcome(within: house.carrier.deadline, of: { await opening.value }) == nil {
      house.journal.violated(
        .closeAnywhere, "open did not return, although its task was cancelled and close() called")
    }
    await stage.dismantle(isQuiet: false)
  }
}

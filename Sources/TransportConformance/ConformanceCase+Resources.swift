internal import NIOCore
internal import Transports

/// The case about released resources.
extension ConformanceCase {
  static let resources = [ConformanceCase(clause: .resources, kind: .exclusive, body: givenBack)]

  private static func givenBack(_ context: CheckContext) async throws {
    // Threads of pools and the like start once and remain.
    for way in Way.allCases { _ = try await live(way, context) }
    var growth: [String] = []
    // Other activity in the process may grow too, but hardly three times in a row.
    for _ in 0..<3 {
      growth = try await cycles(context)
      if growth.isEmpty { break }
    }
    for seen in growth { context.results.violated(.resources, seen) }
    context.results.examined(.resources)
  }

  /// How a short life ends.
  private enum Way: Sendable, CaseIterable {
    case neverOpened, refused, closedWhileOpening, closed, finished, failed

    var needs: Carrier.Capability? {
      switch self {
      case .finished: .orderlyEnd
      case .failed: .failure
      default: nil
      }
    }
  }

  /// Opens and closes transports; returns which resources grew.
  private static func cycles(_ context: CheckContext) async throws -> [String] {
    let (descriptors, threads) = (ProcessFigures.descriptors, ProcessFigures.threads)
    var remains: [Remains] = []
    for cycle in 0..<cycleCount {
      let way = Way.allCases[cycle % Way.allCases.count]
      if let one = try await live(way, context) { remains.append(one) }
    }
    let limit = cycleCount / 4
    let deadline = ContinuousClock.now + context.carrier.deadline
    while true {
      var growth: [String] = []
      let opened = ProcessFigures.descriptors - descriptors
      if opened >= limit { growth.append("\(opened) descriptors more after \(cycleCount) lives") }
      let begun = ProcessFigures.threads - threads
      if begun >= limit { growth.append("\(begun) threads more after \(cycleCount) lives") }
      let transports = remains.count { $0.transport != nil }
      if transports > 0 {
        growth.append("\(transports) of \(remains.count) transports were not released")
      }
      let sinks = remains.count { $0.sink != nil }
      if sinks > 0 { growth.append("\(sinks) of \(remains.count) sinks still held") }
      if growth.isEmpty || ContinuousClock.now > deadline { return growth }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private struct Remains {
    weak var transport: AnyObject?
    weak var sink: Collector?
  }

  private static func live(_ way: Way, _ context: CheckContext) async throws -> Remains? {
    if let needs = way.needs, context.carrier.lacks[needs] != nil { return nil }
    let sizes = [Int](repeating: max(64, context.carrier.packetSizes.lowerBound), count: 3)
    let fixture = try await Fixture(
      context, sizes: sizes, ending: way == .failed ? .failed : .finished, isCutOff: true)
    // A transport that still holds its sink then holds itself.
    fixture.collector.own(fixture.transport)
    let remains = Remains(transport: fixture.transport as AnyObject, sink: fixture.collector)
    switch way {
    case .neverOpened: break
    case .refused:
      await fixture.farEnd.close()
      guard await fixture.open(within: context.carrier.endDeadline) != nil else { return nil }
    case .closedWhileOpening:
      let opening = Task { await fixture.openUntilClosed() }
      fixture.transport.close()
      // If it does not return, that belongs to another clause.
      guard await opening.value != nil else { return nil }
    case .closed, .finished, .failed:
      try await fixture.openForSure()
      try await fixture.send(sizes)
      await fixture.awaitDelivery(of: sizes.count)
      if !context.carrier.isPrepared {
        if way == .finished { try await fixture.farEnd.finish() }
        if way == .failed { try await fixture.farEnd.fail() }
      }
      if way != .closed { _ = await fixture.awaitEnd() }
    }
    await fixture.tearDown(isQuiet: false)
    return remains
  }

  private static let cycleCount = 40
}

internal import NIOCore
internal import Transports

/// The scene about released resources.
extension Scene {
  static let resources = [Scene(clause: .resources, kind: .alone, perform: givenBack)]

  private static func givenBack(_ house: Stage.House) async throws {
    // Threads of pools and the like start once and remain.
    for way in Way.allCases { _ = try await live(way, house) }
    var growth: [String] = []
    // Other activity in the process may grow too, but hardly three times in a row.
    for _ in 0..<3 {
      growth = try await cycles(house)
      if growth.isEmpty { break }
    }
    for seen in growth { house.journal.violated(.resources, seen) }
    house.journal.examined(.resources)
  }

  /// How a short life ends.
  private enum Way: Sendable, CaseIterable {
    case neverOpened, closedWhileOpening, closed, finished, failed

    var needs: Carrier.Capability? {
      switch self {
      case .finished: .orderlyEnd
      case .failed: .failure
      default: nil
      }
    }
  }

  /// Opens and closes transports; returns which resources grew.
  private static func cycles(_ house: Stage.House) async throws -> [String] {
    let (descriptors, threads) = (ProcessFigures.descriptors, ProcessFigures.threads)
    var remains: [Remains] = []
    for cycle in 0..<cycleCount {
      let way = Way.allCases[cycle % Way.allCases.count]
      if let one = try await live(way, house) { remains.append(one) }
    }
    let limit = cycleCount / 4
    let deadline = ContinuousClock.now + house.carrier.deadline
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
    weak var sink: Observer?
  }

  private static func live(_ way: Way, _ house: Stage.House) async throws -> Remains? {
    if let needs = way.needs, house.carrier.lacks[needs] != nil { return nil }
    let sizes = [Int](repeating: max(64, house.carrier.packetSizes.lowerBound), count: 3)
    let stage = try await Stage(
      house, sizes: sizes, ending: way == .failed ? .failed : .finished, isCutOff: true)
    let remains = Remains(transport: stage.transport as AnyObject, sink: stage.observer)
    switch way {
    case .neverOpened: break
    case .closedWhileOpening:
      let opening = Task { await stage.open() }
      stage.transport.close()
      // If it does not return, that belongs to another clause.
      guard await opening.value != nil else { return nil }
    case .closed, .finished, .failed:
      try await stage.openForSure()
      try await stage.send(sizes)
      await stage.awaitDelivery(of: sizes.count)
      if !house.carrier.isPrepared {
        if way == .finished { try await stage.farEnd.finish() }
        if way == .failed { try await stage.farEnd.fail() }
      }
      if way != .closed { _ = await stage.awaitEnd() }
    }
    await stage.dismantle(isQuiet: false)
    return remains
  }

  private static let cycleCount = 40
}

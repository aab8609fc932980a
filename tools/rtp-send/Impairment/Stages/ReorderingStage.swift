import RTPWire

/// Holds packets until others have passed.
struct ReorderingStage: Sendable {
  private struct Displaced {
    var release: NetworkSimulator.Release
    /// The packet follows directly after the one in this place.
    var behind: Int
    /// It waits no longer than that.
    var limit: Instant
  }

  /// Packets that came here so far: the places that displacements count.
  private var place = 0
  private var displaced: [Displaced] = []

  var count: Int { displaced.count }
  /// When the first one leaves if no others come.
  private(set) var deadline: Instant?

  /// Takes a packet, and gives those that leave because of it, in their order.
  mutating func pass(
    _ release: NetworkSimulator.Release, displacedBy places: Int?, within limit: Int64
  ) -> [NetworkSimulator.Release] {
    var leaving: [NetworkSimulator.Release] = []
    if let places {
      let latest = release.time.advanced(byNanoseconds: limit)
      displaced.append(Displaced(release: release, behind: place + places, limit: latest))
      deadline = min(deadline ?? latest, latest)
    } else {
      leaving.append(release)
    }
    if !displaced.isEmpty {
      let place = place
      leaving += take(after: release.time) { $0.behind <= place }
    }
    place += 1
    return leaving
  }

  /// Those that have waited long enough at `now`.
  mutating func expire(at now: Instant) -> [NetworkSimulator.Release] {
    var leaving: [NetworkSimulator.Release] = []
    while let deadline, deadline <= now {
      leaving += take(after: deadline) { $0.limit == deadline }
    }
    return leaving
  }

  /// All that wait, because no more packets come.
  mutating func finish(at now: Instant) -> [NetworkSimulator.Release] {
    take(after: now) { _ in true }
  }

  /// Takes packets out, ordered by place, then by arrival.
  private mutating func take(
    after time: Instant, where isDue: (Displaced) -> Bool
  ) -> [NetworkSimulator.Release] {
    guard displaced.contains(where: isDue) else { return [] }
    let due = displaced.enumerated().filter { isDue($0.element) }
      .sorted { ($0.element.behind, $0.offset) < ($1.element.behind, $1.offset) }
    displaced.removeAll(where: isDue)
    deadline = displaced.map(\.limit).min()
    return due.map { entry in
      var release = entry.element.release
      release.time = max(release.time, time)
      return release
    }
  }
}

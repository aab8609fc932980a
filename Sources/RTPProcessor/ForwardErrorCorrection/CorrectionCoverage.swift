/// Distinguishes a lost correction packet from a lost media packet.
///
/// Where both share one numbering, a lost correction packet leaves a gap like any other, and the
/// next picture would count as damaged. If a sender has so far protected every media packet in the
/// run of correction packets after it, a missing number that a complete run does not protect can
/// only be a correction packet.
struct CorrectionCoverage: Sendable {
  /// How many runs in a row must protect everything before this is relied on.
  static let runsOfProof = 16
  /// How far back from the end of a run is searched: as far as two long masks reach.
  static let longestSearch: Int64 = 96

  /// The numbers that are protected, each in the slot of its lowest bits.
  private var protected = [Int64](repeating: .min, count: PacketHistory.capacity)
  private var provenRuns = 0
  /// How many packets the shortest of them had.
  private var shortestRun = Int.max
  /// True once a packet was seen that nothing protects: then no conclusion is safe.
  private var leavesPacketsOut = false

  /// Correction packets protect `places`.
  mutating func note(_ places: [Int64]) {
    for place in places { protected[index(of: place)] = place }
  }

  /// A correction packet could not be read; the evidence starts over.
  mutating func interrupt() {
    provenRuns = 0
    shortestRun = .max
  }

  /// The numbers of correction packets missing before `sequence`, as far as that is certain.
  ///
  /// Called when a media packet has come, which ends the run of correction packets before it.
  mutating func lostCorrections(before sequence: Int64, in history: PacketHistory) -> [Int64] {
    guard !leavesPacketsOut, history.standing(of: sequence - 1) == .correction else { return [] }
    var place = sequence - 1
    while history.standing(of: place) == .correction, sequence - place < Self.longestSearch {
      place -= 1
    }
    let length = Int(sequence - 1 - place)
    // The packets that the run protects, back to the run before.
    while sequence - place < Self.longestSearch {
      switch history.standing(of: place) {
      case .media:
        guard isProtected(place) else {
          leavesPacketsOut = true
          return []
        }
      case .correction:
        provenRuns += 1
        shortestRun = min(shortestRun, length)
        return []
      case .missing:
        guard provenRuns >= Self.runsOfProof, isUnknown(place, in: history) else { return [] }
        return [place] + restOfRun(around: place, in: history)
      }
      place -= 1
    }
    return []
  }

  /// What else is missing of the run of correction packets that `place` was lost from.
  ///
  /// Media that only a lost correction packet protects look the same. But nothing of a picture
  /// comes behind its marker bit, and a run is no longer than each before.
  private func restOfRun(around place: Int64, in history: PacketHistory) -> [Int64] {
    var length = 1
    while history.standing(of: place + Int64(length)) == .correction, length < shortestRun {
      length += 1
    }
    var missing: [Int64] = []
    var before = place - 1
    while history.standing(of: before) != .media {
      length += 1
      guard length <= shortestRun else { return [] }
      if history.standing(of: before) == .missing {
        guard isUnknown(before, in: history) else { return [] }
        missing.append(before)
      }
      before -= 1
    }
    return history.hasMarker(at: before) ? missing : []
  }

  /// Whether nothing says what the missing `place` is.
  ///
  /// A protected number is media, and may yet be rebuilt.
  private func isUnknown(_ place: Int64, in history: PacketHistory) -> Bool {
    !isProtected(place) && history.remembers(place)
  }

  private func isProtected(_ place: Int64) -> Bool { protected[index(of: place)] == place }

  private func index(of place: Int64) -> Int {
    Int(truncatingIfNeeded: place) & (PacketHistory.capacity - 1)
  }
}

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
  /// True once a packet was seen that nothing protects: then no conclusion is safe.
  private var leavesPacketsOut = false

  /// Correction packets protect `places`.
  mutating func note(_ places: [Int64]) {
    for place in places { protected[index(of: place)] = place }
  }

  /// A correction packet could not be read; the evidence starts over.
  mutating func interrupt() { provenRuns = 0 }

  /// The number of a correction packet missing before `sequence`, if that is certain.
  ///
  /// Called when a media packet has come, which ends the run of correction packets before it.
  mutating func lostCorrection(before sequence: Int64, in history: PacketHistory) -> Int64? {
    guard !leavesPacketsOut, history.standing(of: sequence - 1) == .correction else { return nil }
    var place = sequence - 1
    while history.standing(of: place) == .correction, sequence - place < Self.longestSearch {
      place -= 1
    }
    // The packets that the run protects, back to the run before.
    while sequence - place < Self.longestSearch {
      switch history.standing(of: place) {
      case .media:
        guard isProtected(place) else {
          leavesPacketsOut = true
          return nil
        }
      case .correction:
        provenRuns += 1
        return nil
      case .missing:
        // A protected number is media, and may yet be rebuilt.
        guard provenRuns >= Self.runsOfProof, !isProtected(place), history.remembers(place) else {
          return nil
        }
        return place
      }
      place -= 1
    }
    return nil
  }

  private func isProtected(_ place: Int64) -> Bool { protected[index(of: place)] == place }

  private func index(of place: Int64) -> Int {
    Int(truncatingIfNeeded: place) & (PacketHistory.capacity - 1)
  }
}

/// Tells the place of a lost correction packet from that of a lost media packet.
///
/// Where both are numbered together, a correction packet that is lost leaves a gap like any other,
/// and the picture behind it would count as damaged. A sender that was seen to protect all its
/// packets, each in the run of correction packets that follows it, leaves only one explanation for a
/// place that the complete run behind it does not protect.
struct CorrectionCoverage: Sendable {
  /// How many runs in a row must have protected everything before that is relied on.
  static let runsOfProof = 16
  /// The longest way back from the end of a run: as far as two long masks reach.
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

  /// A correction packet came that tells nothing; the proof begins anew.
  mutating func interrupt() { provenRuns = 0 }

  /// The place of a correction packet that is missing before `sequence`, if that is certain.
  ///
  /// To be asked when a media packet has come, which ends the run of correction packets before it.
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
        // One that is protected is media, and may yet be rebuilt.
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

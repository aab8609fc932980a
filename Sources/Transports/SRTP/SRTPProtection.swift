/// What the tracks of a transport are protected by.
enum SRTPProtection: Sendable {
  /// All of them by the same, as where a user gives the keys.
  case everyTrack(SRTPConfiguration)
  /// Each by its own, as a session description says; of one without, nothing is delivered.
  case tracks([SRTPConfiguration?])
}

/// How the tracks of a transport are protected.
enum SRTPProtection: Sendable {
  /// One configuration for all tracks, for example when the user gives the keys.
  case everyTrack(SRTPConfiguration)
  /// One configuration for each track, as a session description says; a track without one delivers
  /// nothing.
  case tracks([SRTPConfiguration?])
}

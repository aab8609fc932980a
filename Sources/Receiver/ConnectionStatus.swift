public import Reception

/// The connections of a run, and what it missed between them.
public struct ConnectionStatus: Sendable {
  /// Whether the run is connected.
  public enum Phase: Sendable, Hashable {
    /// A transport is open or being opened.
    case connected
    /// The next attempt starts after this time.
    case waiting(Duration)
  }

  /// Whether the run is connected, or when it tries again.
  public let phase: Phase
  /// Whether a transport is open, so that ``failure`` is that of an earlier one.
  public let isOpen: Bool
  /// Why the last connection ended or could not be opened; `nil` while media comes.
  public let failure: EndReason?
  /// The outages so far, and the attempts to end them.
  public let statistics: ReconnectionStatistics
}

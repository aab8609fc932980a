public import Reception

/// Where a run stands with its connections, and what it has missed between them.
public struct ConnectionStatus: Sendable {
  public enum Phase: Sendable, Hashable {
    /// A transport is open or being opened.
    case connected
    /// The next attempt comes in so long.
    case waiting(Duration)
  }

  public let phase: Phase
  /// Why the last connection ended or could not be opened; `nil` while media comes.
  public let failure: EndReason?
  public let statistics: ReconnectionStatistics
}

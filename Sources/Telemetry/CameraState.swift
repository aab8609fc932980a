public import RTPWire
public import Receiver

/// What a camera is doing.
public enum CameraState: String, Sendable, Hashable, CaseIterable {
  /// No run is going on: the next one waits for its turn, or none follows.
  case resting
  /// A connection is being made.
  case connecting
  /// It is connected, and nothing comes.
  case waiting
  /// Media comes, or came less than ten seconds ago.
  case playing
  /// The last connection failed, and the next attempt waits for its turn.
  case reconnecting

  /// How long nothing may come in between.
  private static let patience = Duration.seconds(10)

  /// The state of a run at `now`.
  public init(of status: Receiver.Status, at now: Instant) {
    let connection = status.connection
    if case .waiting = connection.phase {
      self = .reconnecting
    } else if !connection.isOpen {
      self = .connecting
    } else if connection.failure == nil, let last = status.stream?.lastMedia,
      last.duration(to: now) < Self.patience
    {
      self = .playing
    } else {
      self = .waiting
    }
  }
}

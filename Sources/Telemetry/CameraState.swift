public import Receiver

/// What a camera is doing.
public enum CameraState: String, Sendable, Hashable, CaseIterable {
  /// No run is going on: the next one waits for its turn, or none follows.
  case resting
  /// A connection is being made.
  case connecting
  /// It is connected, and nothing has come yet.
  case waiting
  /// Media comes.
  case playing
  /// The last connection failed, and the next attempt waits for its turn.
  case reconnecting

  /// The state of a run.
  public init(of status: Receiver.Status) {
    let connection = status.connection
    if case .waiting = connection.phase {
      self = .reconnecting
    } else if !connection.isOpen {
      self = .connecting
    } else if connection.failure == nil, status.stream?.lastMedia != nil {
      self = .playing
    } else {
      self = .waiting
    }
  }
}

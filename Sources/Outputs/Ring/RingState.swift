import CFrameRing

/// What readers of a ring are told about the stream.
enum RingState: UInt32, Sendable, Hashable {
  /// No frame has come yet.
  case starting = 0
  case live = 1
  /// No frame has come for some time, but the connection stands.
  case stalled = 2
  /// The connection is lost, and another is being made.
  case lost = 3
  /// No more frames will come.
  case ended = 4
}

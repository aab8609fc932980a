/// Why a run came to its end.
public enum EndReason: Sendable {
  /// As many frames came as were asked for.
  case framesReached
  /// The run lasted as long as was asked for.
  case durationReached
  /// The sender said goodbye (RFC 3550 §6.6).
  case goodbye
  /// The carrier ended in order.
  case ended
  /// Somebody stopped it.
  case stopped
  /// No media came at all.
  case noMedia(after: Duration)
  /// Media came, and then no more.
  case mediaLost(after: Duration)
  /// What came is no video of a codec that is known here.
  case unrecognizedMedia(payloadTypes: [UInt8])
  /// The far end describes its media as something else than video of a known codec.
  case unsupportedMedia(any Error)
  /// The transport could not be opened.
  case cannotOpen(any Error)
  /// The transport failed while it carried the stream.
  case transportFailed(any Error)
  /// No decoder could be opened for the stream.
  case decoderFailed(any Error)
  /// Every output has ended by itself; their summaries say why.
  case outputsEnded
}

public import Bitstream

/// Why a run ended.
public enum EndReason: Sendable {
  /// The requested number of frames came.
  case framesReached
  /// The requested duration has passed.
  case durationReached
  /// The sender said goodbye (RFC 3550 §6.6).
  case goodbye
  /// The carrier ended normally.
  case ended
  /// The run was stopped from outside.
  case stopped
  /// No media came at all.
  case noMedia(after: Duration)
  /// Media came and then stopped.
  case mediaLost(after: Duration)
  /// What came is not video of a known codec.
  case unrecognizedMedia(payloadTypes: [UInt8])
  /// The media is of this codec, and not of the one that was stated.
  case otherCodec(VideoCodec)
  /// The far end describes its media as something other than video of a known codec.
  case unsupportedMedia(any Error)
  /// The transport could not be opened.
  case cannotOpen(any Error)
  /// The transport failed in the middle of the stream.
  case transportFailed(any Error)
  /// No decoder could be opened for the stream.
  case decoderFailed(any Error)
  /// Every output ended by itself; their summaries say why.
  case outputsEnded
}

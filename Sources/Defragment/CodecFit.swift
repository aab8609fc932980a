/// What a payload shows about the codec of the stream that it came in.
public enum CodecFit: Sendable, Hashable {
  /// It is of that codec, or can be of no other.
  case own
  /// It cannot be of that codec, but of another.
  case foreign
  /// It may be of several codecs, or is of none.
  case undecided
}

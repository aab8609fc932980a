/// What is kept of a recording.
public enum RetentionRule: Sendable, Hashable {
  /// Files whose last picture is not older than this.
  case age(Duration)
  /// Files of this many bytes together.
  case bytes(Int64)
  /// As much as leaves this many bytes free on the disk.
  case free(Int64)
}

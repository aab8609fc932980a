/// What is kept of a recording, or of many pictures.
public enum RetentionRule: Sendable, Hashable {
  /// Files that were last written not longer ago than this.
  case age(Duration)
  /// Files of this many bytes together.
  case bytes(Int64)
  /// As much as leaves this many bytes free on the disk.
  case free(Int64)
}

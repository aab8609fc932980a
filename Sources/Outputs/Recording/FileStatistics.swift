public import RTPWire

/// What became of the files of an output, in totals since its start.
public struct FileStatistics: Counted, Hashable {
  /// Complete files by why each has ended.
  public private(set) var ended: [FileReason: UInt64] = [:]
  /// Bytes of complete files.
  public internal(set) var bytes: UInt64 = 0
  /// Files that could not be written on.
  public internal(set) var failed: UInt64 = 0
  /// Old files that were deleted.
  public internal(set) var deleted: UInt64 = 0
  public internal(set) var deletedBytes: UInt64 = 0

  public init() {}

  public static let counters: [Counter<FileStatistics>] = [
    Counter(
      "file_bytes", .bytes, \.bytes,
      metric: Metric("segment_bytes", "Bytes of complete files of recordings.")),
    Counter(
      "files_failed", .times, \.failed,
      metric: Metric("segments_failed", "Files of recordings that could not be written on.")),
    Counter(
      "files_deleted", .times, \.deleted,
      metric: Metric("segments_deleted", "Old files of recordings that were deleted.")),
    Counter(
      "deleted_bytes", .bytes, \.deletedBytes,
      metric: Metric("segments_deleted_bytes", "Bytes of the old files that were deleted.")),
  ]

  /// Adds those of another output.
  public mutating func merge(_ other: FileStatistics) {
    add(other)
    ended.merge(other.ended) { $0 &+ $1 }
  }

  mutating func note(_ event: OutputEvent) {
    switch event {
    case .fileEnded(let file):
      ended[file.ending.reason, default: 0] += 1
      bytes += UInt64(clamping: file.bytes)
    case .fileFailed: failed += 1
    case .filesDeleted(let count, let bytes):
      deleted += UInt64(clamping: count)
      deletedBytes += UInt64(clamping: bytes)
    case .continued, .soundLeftOut, .soundConverted, .keyPicturesRare, .clockRunsWrong,
      .changesTooOften, .picturesTooOften, .filesNotDeleted, .noRoomForFiles, .reached, .refused:
      break
    }
  }
}

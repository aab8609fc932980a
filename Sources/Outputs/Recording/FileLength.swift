/// How long a file has become, and where its header says so.
///
/// libavformat does not end a file that breaks off. What its header says can still be replaced,
/// which needs no room on a full disk.
enum FileLength: Sendable, Hashable {
  /// In seconds.
  case movie(MovieHeader, duration: Double)
  /// In bytes.
  case wave(WaveHeader)

  /// What writes the length into the header of a file of `count` bytes.
  func patches(byteCount count: Int) -> [OutputRecord.Patch] {
    switch self {
    case .movie(let header, let duration): [header.patch(duration: duration)]
    case .wave(let header): header.patches(byteCount: count)
    }
  }
}

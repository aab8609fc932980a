import RTPWire

/// What is kept of a recording.
public enum RetentionRule: Sendable, Hashable {
  /// Files whose last picture is not older than this.
  case age(Duration)
  /// Files of this many bytes together.
  case bytes(Int64)
  /// As much as leaves this many bytes free on the disk.
  case free(Int64)
}

/// A file of a recording, as it is found in its folder.
struct StoredFile: Sendable, Hashable {
  var path: String
  /// When it was last written.
  var end: WallClockTime
  var bytes: Int64
  /// Whether it is being written; such a file is never deleted.
  var isOpen = false
}

extension [RetentionRule] {
  /// How far the clock of a file server may be ahead, in nanoseconds: a day.
  private static var greatestDifference: Int64 { 86_400_000_000_000 }

  /// The files that are to be deleted.
  ///
  /// - Parameters:
  ///   - files: all files of the recording, in any order.
  ///   - free: bytes free on the disk; `nil` where that is not known.
  ///   - now: the time.
  /// - Returns: those that a rule does not let stay, the oldest first; and whether a rule has no
  ///   room for the newest one, whatever else is deleted. Then that one stays: such a limit is a
  ///   mistake, which is not to cost everything.
  func surplus(
    of files: [StoredFile], free: Int64?, at now: WallClockTime
  ) -> (files: [StoredFile], lacksRoom: Bool) {
    var bytes = files.reduce(Int64(0)) { $0.addingSaturating($1.bytes) }
    var free = free
    var surplus: [StoredFile] = []
    var lacksRoom = false
    // A file from the future is of a clock that was wrong, and older than what is recorded now. The
    // clock of a file server may be ahead of this one.
    let future = now.advanced(byNanoseconds: Self.greatestDifference)
    func order(_ file: StoredFile) -> (rank: Int, end: WallClockTime, path: String) {
      (file.end > future ? 0 : 1, file.end, file.path)
    }
    let oldestFirst = files.filter { !$0.isOpen }.sorted { order($0) < order($1) }
    for (index, file) in oldestFirst.enumerated() {
      let isOld = contains { rule in
        guard case .age(let limit) = rule else { return false }
        return file.end < now.advanced(byNanoseconds: -limit.wholeNanoseconds)
      }
      let isTooMuch = contains { rule in
        switch rule {
        case .age: false
        case .bytes(let limit): bytes > limit
        case .free(let limit): free.map { $0 < limit } ?? false
        }
      }
      if isTooMuch, !isOld, index == oldestFirst.count - 1, !hasRoom(for: file, free: free) {
        lacksRoom = true
        break
      }
      guard isOld || isTooMuch else { continue }
      surplus.append(file)
      bytes = bytes.subtractingSaturating(file.bytes)
      free = free.map { $0.addingSaturating(file.bytes) }
    }
    return (surplus, lacksRoom)
  }

  /// Whether `file`, the last that is left, could stay if nothing else were there.
  ///
  /// `free` is what is free beside it.
  private func hasRoom(for file: StoredFile, free: Int64?) -> Bool {
    allSatisfy { rule in
      switch rule {
      case .age: true
      case .bytes(let limit): file.bytes <= limit
      case .free(let limit): free.map { $0.addingSaturating(file.bytes) >= limit } ?? true
      }
    }
  }
}

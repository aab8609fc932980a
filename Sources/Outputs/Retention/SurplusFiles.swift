import RTPWire

/// A file of a recording, or one of many pictures, as it is found in its folder.
struct StoredFile: Sendable, Hashable {
  var path: String
  /// When it was last written.
  var end: WallClockTime
  var bytes: Int64
  /// Whether it is being written; such a file is never deleted.
  var isOpen = false
}

/// The files that the rules of a recording, or of pictures, do not let stay, the oldest first.
///
/// What is free on the disk is asked for each of them: others write there, and delete as well.
struct SurplusFiles {
  /// How far the clock of a file server may be ahead, in nanoseconds: a day.
  private static let greatestDifference: Int64 = 86_400_000_000_000

  /// Whether a rule has no room for the newest file, whatever else is deleted.
  ///
  /// Then that one stays: such a limit is a mistake, which is not to cost everything.
  private(set) var lacksRoom = false

  private let rules: [RetentionRule]
  private let now: WallClockTime
  /// Those that may be deleted and were not looked at yet, the oldest first.
  private var rest: ArraySlice<StoredFile>
  /// How large all files are that stay so far.
  private var bytes: Int64

  /// - Parameters:
  ///   - files: all files of the recording, in any order.
  ///   - rules: what is kept.
  ///   - now: the time.
  init(of files: [StoredFile], by rules: [RetentionRule], at now: WallClockTime) {
    (self.rules, self.now) = (rules, now)
    bytes = files.reduce(Int64(0)) { $0.addingSaturating($1.bytes) }
    // A file from the future is of a clock that was wrong, and older than what is recorded now. The
    // clock of a file server may be ahead of this one.
    let future = now.advanced(byNanoseconds: Self.greatestDifference)
    func order(_ file: StoredFile) -> (rank: Int, end: WallClockTime, path: String) {
      (file.end > future ? 0 : 1, file.end, file.path)
    }
    rest = files.filter { !$0.isOpen }.sorted { order($0) < order($1) }[...]
  }

  /// The next file that is to be deleted; `nil` when the others may stay.
  ///
  /// `free` is how many bytes are free on the disk now; `nil` where that is not known.
  mutating func next(free: Int64?) -> StoredFile? {
    while let file = rest.popFirst() {
      let isOld = isOld(file)
      let isTooMuch = isTooMuch(free: free)
      if isTooMuch, !isOld, rest.isEmpty, !hasRoom(for: file, free: free) {
        lacksRoom = true
        return nil
      }
      guard isOld || isTooMuch else { continue }
      bytes = bytes.subtractingSaturating(file.bytes)
      return file
    }
    return nil
  }

  private func isOld(_ file: StoredFile) -> Bool {
    rules.contains { rule in
      guard case .age(let limit) = rule else { return false }
      return file.end < now.advanced(byNanoseconds: -limit.wholeNanoseconds)
    }
  }

  private func isTooMuch(free: Int64?) -> Bool {
    rules.contains { rule in
      switch rule {
      case .age: false
      case .bytes(let limit): bytes > limit
      case .free(let limit): free.map { $0 < limit } ?? false
      }
    }
  }

  /// Whether `file`, the last that is left, could stay if nothing else were there.
  ///
  /// `free` is what is free beside it.
  private func hasRoom(for file: StoredFile, free: Int64?) -> Bool {
    rules.allSatisfy { rule in
      switch rule {
      case .age: true
      case .bytes(let limit): file.bytes <= limit
      case .free(let limit): free.map { $0.addingSaturating(file.bytes) >= limit } ?? true
      }
    }
  }
}

/// Which file is read next, where a writer goes from one to the other.
struct FileChoice {
  /// A file as the directory has it.
  struct Entry: Equatable {
    var name: String
    /// Its number in the file system, which stays when it is renamed.
    var inode: UInt64
    /// When it was last written, in nanoseconds since 1970.
    var modified: Int64
  }

  /// The most files that are remembered.
  private static let memory = 4096

  /// When files that are over were last written: numbers are given again to new files.
  private var done: [UInt64: Int64] = [:]
  private var order: [UInt64] = []
  private(set) var current: Entry?
  private let hasOneName: Bool

  /// - Parameter hasOneName: whether another file takes the name of the present one.
  init(hasOneName: Bool) { self.hasOneName = hasOneName }

  /// Begins with the file that was written last, or where all of them are new, with the first.
  mutating func begin(in entries: [Entry], areNew: Bool) -> Entry? {
    if areNew {
      current = entries.min { FileNames.isOrdered($0.name, before: $1.name) }
    } else {
      current = entries.max { one, other in
        one.modified != other.modified
          ? one.modified < other.modified : FileNames.isOrdered(one.name, before: other.name)
      }
    }
    return current
  }

  /// The file behind the present one, once there is one.
  ///
  /// It was written after the present one was begun. Of several, the next name comes first, or
  /// where names begin again, the one that was written first.
  func successor(in entries: [Entry]) -> Entry? {
    guard let current else { return nil }
    let candidates = entries.filter { entry in
      entry.inode != current.inode && (hasOneName || entry.modified >= current.modified)
        && done[entry.inode].map { entry.modified > $0 } ?? true
    }
    let later = candidates.filter {
      $0.name == current.name || FileNames.isOrdered(current.name, before: $0.name)
    }
    return later.min { FileNames.isOrdered($0.name, before: $1.name) }
      ?? candidates.min { ($0.modified, $0.name) < ($1.modified, $1.name) }
  }

  /// Goes on with `entry`; the present file was last written at `modified`.
  mutating func goOn(to entry: Entry, after modified: Int64) {
    if let current {
      if done.updateValue(modified, forKey: current.inode) == nil { order.append(current.inode) }
      if order.count > Self.memory { done[order.removeFirst()] = nil }
    }
    done[entry.inode] = nil
    current = entry
  }
}

import BlockingIO
import Glibc

/// The files that there are, and the folders that they need.
extension NamePattern {
  /// The paths of those files that are of these, each behind ``folder``.
  var present: [String] { present(in: "", folders[...]) }

  private func present(in place: String, _ folders: ArraySlice<TimedName>) -> [String] {
    guard let next = folders.first else {
      return Self.names(in: folder + place).filter(matches).map { place + $0 }
    }
    let names =
      next.hasTime
      ? Self.names(in: folder + place).filter { next.rest(of: $0.utf8[...])?.isEmpty == true }
      : [next.text(at: [:])]
    return names.flatMap { present(in: place + $0 + "/", folders.dropFirst()) }
  }

  /// What there is in `folder`; nothing if that is none.
  private static func names(in folder: String) -> [String] {
    guard let stream = unsafe opendir(folder.isEmpty ? "." : folder) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      names.append(name)
    }
    return names
  }

  /// The highest number of a file in the folder; 0 where there is none.
  var highestNumber: Int {
    present.compactMap(number(in:)).filter { $0 <= Self.greatestNumber }.max() ?? 0
  }

  /// What nobody counts to.
  private static var greatestNumber: Int { 1 << 60 }

  /// Makes the file `path`, which is one of these, by `body`, and its folders if need be.
  ///
  /// Other outputs may make these folders at the same time, and remove them again while they are
  /// empty.
  ///
  /// - Throws: what `body` throws, or why a folder cannot be made.
  func making<File>(
    _ path: String, _ body: () throws(WriteFailure) -> File
  ) throws(WriteFailure) -> File {
    for _ in 0..<Self.mostAttempts {
      do throws(WriteFailure) {
        return try body()
      } catch {
        guard error == .cannotOpen(errno: ENOENT), !folders.isEmpty else { throw error }
      }
      try makeFolders(of: path)
    }
    return try body()
  }

  private static var mostAttempts: Int { 10 }

  private func makeFolders(of path: String) throws(WriteFailure) {
    for (depth, folder) in timedFolders(of: path).reversed().enumerated() {
      if unsafe mkdir(folder, 0o777) == 0 {
        // A power cut must not cost the files that are put there.
        if let failure = FileWriter.syncFolder(of: folder) { throw failure }
      } else if errno == ENOENT, depth > 0 {
        // The folder around it has just been removed.
        return
      } else if errno != EEXIST {
        throw .cannotOpen(errno: errno)
      }
    }
  }

  /// Removes those folders of `path`, which is one of these, that have nothing in them any more.
  func removeEmptyFolders(of path: String) {
    for folder in timedFolders(of: path) {
      guard unsafe rmdir(folder) == 0 else { return }
    }
  }

  /// The folders of `path` whose names may have the time, the innermost first.
  private func timedFolders(of path: String) -> [String] {
    var path = path[...]
    return folders.compactMap { _ in
      guard let slash = path.lastIndex(of: "/") else { return nil }
      path = path[..<slash]
      return String(path)
    }
  }
}

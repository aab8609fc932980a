import Glibc

/// The file that a path stands for, to recognize two paths of one file.
///
/// Symbolic links are followed, even to files that do not exist yet.
package enum FileIdentity: Hashable {
  case existing(device: UInt64, inode: UInt64)
  /// A name in an existing folder, whose file does not exist yet or may be replaced.
  case named(device: UInt64, inode: UInt64, name: String)

  /// The identity of what `argument` names: a path, `fd:N`, or `-` for `descriptor`.
  ///
  /// `nil` for what several may write at once (devices, sockets) and for what cannot exist.
  package init?(_ argument: String, standard descriptor: Int32) {
    var status = stat()
    if argument == "-" {
      guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    } else if argument.hasPrefix("fd:") {
      guard let number = Int32(argument.dropFirst(3)), unsafe fstat(number, &status) == 0 else {
        return nil
      }
    } else if unsafe stat(argument, &status) != 0 {
      guard errno == ENOENT else { return nil }
      self.init(placeOf: argument)
      return
    }
    guard [S_IFREG, S_IFIFO].contains(status.st_mode & S_IFMT) else { return nil }
    self = .existing(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  /// The identity of the place that `path` names, which stays when its file is replaced.
  ///
  /// `nil` for what cannot exist.
  package init?(placeOf path: String) {
    guard let path = try? SymbolicLink.target(of: path) else { return nil }
    var (folder, name) = SymbolicLink.divide(path)
    var status = stat()
    guard !name.isEmpty else { return nil }
    while unsafe stat(folder, &status) != 0 {
      // Folders named by the time are made later, so they are part of the name.
      let (outer, inner) = SymbolicLink.divide(folder)
      guard errno == ENOENT, inner.contains("%"), outer != folder else { return nil }
      (folder, name) = (outer, "\(inner)/\(name)")
    }
    self = .named(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), name: name)
  }

  package static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  package static func isPipe(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }
}

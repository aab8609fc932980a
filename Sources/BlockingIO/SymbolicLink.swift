package import Glibc

/// Where symbolic links lead, even to files that do not exist yet.
package enum SymbolicLink {
  /// As the kernel follows them (`MAXSYMLINKS`).
  private static let maximum = 40

  /// The path that `path` leads to: itself if it is no link.
  ///
  /// - Throws: ``WriteFailure/cannotOpen(errno:)``, with `EACCES` at a link that somebody else may
  ///   have put there (``isFollowed(ownedBy:inFolderOf:mode:by:)``), and with `ELOOP` in a circle.
  package static func target(of path: String) throws(WriteFailure) -> String {
    var path = path
    for _ in 0..<maximum {
      var link = stat()
      guard unsafe lstat(path, &link) == 0, link.st_mode & S_IFMT == S_IFLNK else { return path }
      let name = divide(path).folder
      var folder = stat()
      guard unsafe stat(name, &folder) == 0,
        isFollowed(
          ownedBy: link.st_uid, inFolderOf: folder.st_uid, mode: folder.st_mode, by: geteuid())
      else { throw .cannotOpen(errno: EACCES) }
      var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = unsafe readlink(path, &bytes, bytes.count)
      guard count > 0 else { throw .cannotOpen(errno: errno) }
      let text = String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      path = text.hasPrefix("/") ? text : name + "/" + text
    }
    throw .cannotOpen(errno: ELOOP)
  }

  /// Whether `user` follows a link of `owner`: in a folder that is sticky and that all may write
  /// to, as `/tmp`, only its own links and those of the folder's owner.
  ///
  /// So decides the kernel where `fs.protected_symlinks` is set (proc(5)); but it sees no link
  /// where a file is renamed to what the link leads to.
  package static func isFollowed(
    ownedBy owner: uid_t, inFolderOf folderOwner: uid_t, mode: mode_t, by user: uid_t
  ) -> Bool {
    let isShared = mode & S_ISVTX != 0 && mode & S_IWOTH != 0
    return !isShared || owner == user || owner == folderOwner
  }

  /// The folder and the name in it.
  package static func divide(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }
}

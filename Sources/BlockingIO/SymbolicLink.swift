import Glibc

/// Where symbolic links lead, even to files that do not exist yet.
package enum SymbolicLink {
  /// As the kernel follows them (`MAXSYMLINKS`).
  private static let maximum = 40

  /// The path that `path` leads to: itself if it is no link; `nil` in a circle.
  package static func target(of path: String) -> String? {
    var path = path
    for _ in 0..<maximum {
      var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = unsafe readlink(path, &bytes, bytes.count)
      guard count > 0 else { return path }
      let link = String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      path = link.hasPrefix("/") ? link : divide(path).folder + "/" + link
    }
    return nil
  }

  /// The folder and the name in it.
  package static func divide(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }
}

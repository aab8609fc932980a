internal import Glibc

/// The resources of this process, from `/proc/self`.
enum ProcessFigures {
  static var descriptors: Int { entries(of: "/proc/self/fd") }
  static var threads: Int { entries(of: "/proc/self/task") }

  /// Bytes of memory in use.
  static var residentBytes: Int {
    guard let file = unsafe fopen("/proc/self/statm", "r") else { return 0 }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard unsafe fgets(&line, CInt(line.count), file) != nil else { return 0 }
    let text = String(decoding: line.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let words = text.split(separator: " ")
    // The second figure counts pages in memory (proc(5)).
    return words.count > 1 ? (Int(words[1]) ?? 0) * Int(sysconf(CInt(_SC_PAGESIZE))) : 0
  }

  private static func entries(of path: String) -> Int {
    guard let folder = unsafe opendir(path) else { return 0 }
    defer { unsafe closedir(folder) }
    var count = 0
    while unsafe readdir(folder) != nil { count += 1 }
    return count
  }
}

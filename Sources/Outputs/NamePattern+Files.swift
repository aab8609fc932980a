import Glibc

/// The files that there are.
extension NamePattern {
  /// The names of those in the folder that are of these.
  var present: [String] {
    guard let stream = unsafe opendir(folder.isEmpty ? "." : folder) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if matches(name) { names.append(name) }
    }
    return names
  }

  /// The highest number of a file in the folder; 0 where there is none.
  var highestNumber: Int {
    present.compactMap(number(in:)).filter { $0 <= Self.greatestNumber }.max() ?? 0
  }

  /// What nobody counts to.
  private static var greatestNumber: Int { 1 << 60 }
}

import Foundation
import Glibc
import TestSupport

/// The decoders' processes that this one has started.
enum BoxChildren {
  /// Their numbers; with `isEnded`, also of those that have ended and that nobody waited for.
  static func all(isEnded: Bool = false) -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap(Int32.init).filter { number in
      guard let fields = stat(of: number), fields.count > 1, Int32(fields[1]) == getpid() else {
        return false
      }
      if fields[0] == "Z" { return isEnded }
      return line(of: number).contains("--decode-for-parent")
    }
  }

  /// The only one, once it is there.
  static func one() throws -> Int32 {
    var found: Int32?
    try waitUntil("there is one decoder's process") {
      let all = all()
      found = all.first
      return all.count == 1
    }
    return found ?? 0
  }

  /// What the kernel says of the process `number` in `file`.
  static func text(_ file: String, of number: Int32) -> String {
    (try? String(contentsOfFile: "/proc/\(number)/\(file)", encoding: .utf8)) ?? ""
  }

  private static func line(of number: Int32) -> String { text("cmdline", of: number) }

  /// The fields behind the name: state, parent, and so on.
  private static func stat(of number: Int32) -> [Substring]? {
    let text = text("stat", of: number)
    guard let end = text.lastIndex(of: ")") else { return nil }
    return text[text.index(after: end)...].split(separator: " ")
  }

  /// How many descriptors this process has.
  static var openDescriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
  }
}

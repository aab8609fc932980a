import Foundation
import Glibc

/// The decoders' processes that a program has started, this one unless another is named.
public enum DecoderProcesses {
  /// Their numbers; with `isEnded`, also those that have ended and that nobody waited for.
  public static func all(of parent: Int32? = nil, isEnded: Bool = false) -> [Int32] {
    let parent = parent ?? getpid()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap(Int32.init).filter { number in
      guard let fields = stat(of: number), fields.count > 1, Int32(fields[1]) == parent else {
        return false
      }
      if fields[0] == "Z" { return isEnded }
      return text("cmdline", of: number).contains("--decode-for-parent")
    }
  }

  /// The only one, once it is there.
  public static func one(of parent: Int32? = nil) throws -> Int32 {
    var found: [Int32] = []
    try waitUntil("there is one decoder's process") {
      found = all(of: parent)
      return found.count == 1
    }
    return found[0]
  }

  /// What the kernel says of the process `number` in `file`.
  public static func text(_ file: String, of number: Int32) -> String {
    (try? String(contentsOfFile: "/proc/\(number)/\(file)", encoding: .utf8)) ?? ""
  }

  /// The fields behind the name: state, parent, and so on.
  private static func stat(of number: Int32) -> [Substring]? {
    let text = text("stat", of: number)
    guard let end = text.lastIndex(of: ")") else { return nil }
    return text[text.index(after: end)...].split(separator: " ")
  }

  /// How many other processes, pieces of memory and sockets this process has open.
  ///
  /// Others are not counted: libdispatch makes some of its own whenever it first needs them.
  public static var openDescriptors: Int {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { name in
      let kind = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
      return ["anon_inode:[pidfd]", "/memfd:", "socket:"].contains { kind?.hasPrefix($0) ?? false }
    }
  }
}

import Decode
import Glibc

/// Where an output goes.
public enum OutputTarget: Sendable, Hashable {
  /// A file, a named pipe or a device.
  case path(String)
  /// An open descriptor, which the output takes over; it points to `/dev/null` once the output
  /// ends.
  case descriptor(Int32)

  public static let standardOutput = OutputTarget.descriptor(1)

  /// The target that an argument names: `-` is standard output, anything else a path.
  public init(argument: String) {
    self = argument == "-" ? .standardOutput : .path(argument)
  }

  /// `nil` for a descriptor.
  var path: String? { if case .path(let path) = self { path } else { nil } }

  /// The folder of a file; `nil` where no disk is written.
  public var folder: String? {
    guard case .path(let path) = self, isFile else { return nil }
    // Folders named by the time are made later.
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let folder = parts.prefix { !$0.contains("%") }.joined(separator: "/")
    return folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder
  }

  /// Whether it is a regular file, or one that is still to be made.
  public var isFile: Bool {
    var status = stat()
    return switch self {
    case .path(let path):
      unsafe stat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFREG : errno == ENOENT
    case .descriptor(let number):
      unsafe fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
  }

  /// The path of the `number`th file that continues this one: `name.0001.y4m` for 1.
  package static func continuation(of path: String, number: Int) -> String {
    let digits = String(number)
    let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    guard let ending = ending(of: path) else { return "\(path).\(padded)" }
    return "\(path.dropLast(ending.count))\(padded).\(ending)"
  }

  /// The part of the file name after its last dot; `nil` for `name`, `.name` and `name.`.
  static func ending(of path: String) -> Substring? {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    let ending = name[name.index(after: dot)...]
    return ending.isEmpty ? nil : ending
  }
}

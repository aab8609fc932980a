import Glibc
import Transports

/// The command line without the passwords in its URLs.
///
/// The passwords are also overwritten in the process's memory, which `ps` and `/proc` show.
struct CommandLineSecrets: Sendable {
  /// The command line of this process, read on first use.
  static let taken: CommandLineSecrets = {
    let transports = CommandLineTool.current.transports
    let taken = CommandLineSecrets(
      Array(CommandLine.arguments.dropFirst()), transports: transports)
    hidePasswordsInMemory(transports)
    return taken
  }()

  /// The arguments without passwords.
  let arguments: [String]
  private let originals: [String: String]

  init(_ arguments: [String], transports: TransportCatalogue) {
    self.arguments = arguments.map { SourceArgument($0, transports: transports).shown }
    originals = Dictionary(
      zip(self.arguments, arguments).filter { $0 != $1 }, uniquingKeysWith: { first, _ in first })
  }

  /// The argument as typed, for `argument` as shown.
  func original(of argument: String) -> String { originals[argument] ?? argument }

  /// The long options, as they were typed.
  var typedOptions: [String] {
    arguments.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map {
      String($0.prefix { $0 != "=" })
    }
  }

  private static func hidePasswordsInMemory(_ transports: TransportCatalogue) {
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
      let typed = unsafe String(cString: argument)
      let shown = SourceArgument(typed, transports: transports).shown
      guard shown != typed else { continue }
      let length = unsafe strlen(argument)
      var bytes = Array(shown.utf8.prefix(length))
      bytes += [UInt8](repeating: 0, count: length - bytes.count)
      for (offset, byte) in bytes.enumerated() {
        unsafe argument[offset] = CChar(bitPattern: byte)
      }
    }
  }
}

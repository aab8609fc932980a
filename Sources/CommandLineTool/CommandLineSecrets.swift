import Glibc
import Transports

/// The command line without the passwords in its URLs, which are kept apart from all that is printed.
///
/// They are overwritten in the process's own memory too, where `ps` and `/proc` find the command line.
struct CommandLineSecrets: Sendable {
  /// What this process was started with; taken when it is first asked for.
  static let taken: CommandLineSecrets = {
    let taken = CommandLineSecrets(Array(CommandLine.arguments.dropFirst()))
    hidePasswordsInMemory()
    return taken
  }()

  /// The arguments as they may be shown.
  let arguments: [String]
  private let originals: [String: String]

  init(_ arguments: [String]) {
    self.arguments = arguments.map { SourceArgument($0).shown }
    originals = Dictionary(
      zip(self.arguments, arguments).filter { $0 != $1 }, uniquingKeysWith: { first, _ in first })
  }

  /// What was typed where `argument` is shown.
  func original(of argument: String) -> String { originals[argument] ?? argument }

  private static func hidePasswordsInMemory() {
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
      let typed = unsafe String(cString: argument)
      let shown = SourceArgument(typed).shown
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

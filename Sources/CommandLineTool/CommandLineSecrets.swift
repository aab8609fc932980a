import Glibc
import Transports

/// A command line without the passwords in its URLs.
///
/// Those of this process's are also overwritten in its memory, which `ps` and `/proc` show.
struct CommandLineSecrets: Sendable, Hashable {
  /// What a camera of a fleet has instead of a command line.
  @TaskLocal static var ofCamera: CommandLineSecrets?

  /// The command line in force: that of the camera, or of this process.
  static var taken: CommandLineSecrets { ofCamera ?? ofProcess }

  /// The command line of this process, read on first use.
  private static let ofProcess: CommandLineSecrets = {
    let transports = CommandLineTool.current.transports
    let taken = CommandLineSecrets(
      Array(CommandLine.arguments.dropFirst()), transports: transports)
    hidePasswordsInMemory(transports)
    return taken
  }()

  /// The arguments without passwords.
  let arguments: [String]
  private let originals: [String: String]
  /// The options that hold for many cameras, some of which have no use for them.
  private let defaults: Set<String>

  init(
    _ arguments: [String], defaults: Set<String> = [], transports: TransportCatalogue
  ) {
    self.defaults = defaults
    var originals: [String: String] = [:]
    self.arguments = arguments.map { argument in
      let (option, value) = Self.divided(argument)
      let shown = Self.shown(value, transports)
      if shown != value, originals[shown] == nil { originals[shown] = value }
      return option + shown
    }
    self.originals = originals
  }

  /// The argument or the value of an option as typed, for `argument` as shown.
  func original(of argument: String) -> String { originals[argument] ?? argument }

  /// The path of a file as typed: what looks like a login in it is none, unless it is a URL.
  @Sendable static func path(_ shown: String) -> String {
    shown.contains("://") ? shown : taken.original(of: shown)
  }

  /// The long options, as they were typed.
  var typedOptions: [String] {
    arguments.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map {
      String($0.prefix { $0 != "=" })
    }.filter { !defaults.contains($0) }
  }

  /// What precedes the value in an argument, such as `--http-proxy=`, and the value.
  private static func divided(_ argument: String) -> (option: String, value: String) {
    guard argument.hasPrefix("--"), let sign = argument.firstIndex(of: "=") else {
      return ("", argument)
    }
    return (String(argument[...sign]), String(argument[sign...].dropFirst()))
  }

  private static func shown(_ value: String, _ transports: TransportCatalogue) -> String {
    // Neither a URL nor a login: the path of a file, say, which is opened as it is shown.
    guard ["://", "@", "?"].contains(where: value.contains) else { return value }
    return SourceArgument(value, transports: transports).shown
  }

  /// The number of the first argument of this process that is no text in UTF-8: it would name
  /// another file than the one that was meant, and it may have a password in it.
  static var unreadable: Int? {
    (1..<max(1, Int(CommandLine.argc))).first { index in
      guard let argument = unsafe CommandLine.unsafeArgv[index] else { return false }
      return unsafe String(validatingCString: argument) == nil
    }
  }

  private static func hidePasswordsInMemory(_ transports: TransportCatalogue) {
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
      let typed = unsafe String(cString: argument)
      let (option, value) = divided(typed)
      let shown = option + Self.shown(value, transports)
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

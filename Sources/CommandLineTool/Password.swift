import BlockingIO
import Glibc
import Transports

/// The sources of a password that other users cannot read.
enum Password {
  static let variable = "RTP_RECV_PASSWORD"
  /// In bytes; no camera accepts a longer one.
  private static let maximumLength = 1024

  /// Why there is no password.
  enum Failure: Error, CustomStringConvertible {
    case unreadable(path: String, reason: String)
    case empty(path: String)
    case readableByOthers(path: String)
    case userMissing
    /// The input ended at the prompt.
    case notGiven
    /// Ctrl-C was pressed at the prompt.
    case interrupted

    var description: String {
      switch self {
      case .unreadable(let path, let reason): "cannot read the password in \(path): \(reason)"
      case .empty(let path): "\(path) has no password in its first line"
      case .readableByOthers(let path):
        "\(path) can be read by others than its owner; try: chmod 600 \(path)"
      case .userMissing:
        "there is a password, but no user name; give it with "
          + (CommandLineSecrets.ofCamera == nil ? "--user" : "'user'") + ", or in the URL"
      case .notGiven: "no password was given"
      case .interrupted: "interrupted"
      }
    }

    var status: ExitStatus { if case .interrupted = self { .forced } else { .credentialsRefused } }
  }

  /// The credentials for `source`: from the URL, else the file, else the environment, else the
  /// terminal.
  ///
  /// The last two have a single password, and a fleet asks neither.
  static func credentials(
    for source: SourceArgument, user: String?, file: String?
  ) throws -> Credentials? {
    let user = user ?? source.user
    var password = source.password
    if password == nil, let file { password = try firstLine(of: file) }
    if CommandLineSecrets.ofCamera == nil {
      // Removed from the environment even if it is not used.
      let handedOver = Secret.takeFromEnvironment(variable)
      // It may be that of another camera, or of none.
      if password == nil, user != nil { password = handedOver }
      if password == nil, let user { password = try ask(for: user, at: source) }
    }
    guard let password else { return nil }
    Secret.forbidCoreDumps()
    guard let user else {
      // A camera without a login has no use for the file of others.
      UselessOption.note?.take("--password-file")
      throw Failure.userMissing
    }
    return Credentials(user: user, password: password)
  }

  private static func firstLine(of path: String) throws(Failure) -> String {
    do throws(Secret.Failure) {
      return try Secret.firstLine(of: path, limit: maximumLength)
    } catch {
      switch error {
      case .unreadable(let reason): throw .unreadable(path: path, reason: reason)
      case .readableByOthers: throw .readableByOthers(path: path)
      case .empty: throw .empty(path: path)
      }
    }
  }

  /// Asks at the terminal; `nil` without a terminal.
  private static func ask(
    for user: String, at source: SourceArgument
  ) throws(Failure) -> String? {
    guard let terminal = unsafe fopen("/dev/tty", "r+e") else { return nil }
    defer { unsafe fclose(terminal) }
    let number = unsafe fileno(terminal)
    // A background job would be stopped for a question that nobody sees.
    guard isatty(number) != 0, tcgetpgrp(number) == getpgrp() else { return nil }
    // Nobody takes these signals before a run begins, and they must not leave a terminal without
    // echo.
    Restoration.prepare(number, "\n")
    Restoration.begin(at: TCSAFLUSH, endedBy: [SIGINT, SIGTERM, SIGHUP]) { settings in
      // Keys send none: Ctrl-C ends the line instead.
      settings.c_lflag &= ~tcflag_t(ECHO | ISIG)
      settings.c_cc.11 = interruption
    }
    defer {
      Restoration.end(at: TCSAFLUSH)
      unsafe fputs("\n", terminal)
    }
    unsafe fputs("Password of \(user) at \(source.bare): ", terminal)
    unsafe fflush(terminal)
    let answer = line(from: number)
    guard let answer else { throw .notGiven }
    guard answer.utf8.last != interruption else { throw .interrupted }
    return answer
  }

  /// The character of Ctrl-C.
  ///
  /// As `VEOL`, the eleventh special character, it ends a line.
  private static let interruption: UInt8 = 3

  /// The first line, as far as one read returns it; `nil` at the end of input.
  private static func line(from descriptor: Int32) -> String? {
    var bytes = [UInt8](repeating: 0, count: maximumLength)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    return Secret.firstLine(of: bytes.prefix(count))
  }
}

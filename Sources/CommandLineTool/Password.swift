import Glibc
import Transports

/// Where a password comes from, so that it need not stand where everybody can read it.
enum Password {
  static let variable = "RTP_RECV_PASSWORD"
  /// Bytes; no camera takes a longer one.
  private static let maximumLength = 1024

  /// Why a password cannot be had.
  enum Failure: Error, CustomStringConvertible {
    case unreadable(path: String, reason: String)
    case empty(path: String)
    case readableByOthers(path: String)
    case userMissing
    /// Whoever was asked for it pressed Ctrl-C.
    case interrupted

    var description: String {
      switch self {
      case .unreadable(let path, let reason): "cannot read the password in \(path): \(reason)"
      case .empty(let path): "\(path) has no password in its first line"
      case .readableByOthers(let path):
        "\(path) can be read by others than its owner; try: chmod 600 \(path)"
      case .userMissing: "there is a password, but no user name; give it with --user, or in the URL"
      case .interrupted: "interrupted"
      }
    }
  }

  /// The credentials for `source`; the URL comes first, then the file, the environment, the terminal.
  static func credentials(
    for source: SourceArgument, user: String?, file: String?
  ) throws -> Credentials? {
    let user = user ?? source.user
    var password = source.password
    if password == nil, let file { password = try firstLine(of: file) }
    // Taken in any case, so that it stays nowhere for others to find.
    let handedOver = takeFromEnvironment()
    if password == nil { password = handedOver }
    if password == nil, let user { password = try ask(for: user, at: source) }
    guard let password else { return nil }
    guard let user else { throw Failure.userMissing }
    return Credentials(user: user, password: password)
  }

  /// The variable's value, which is wiped in the process's own memory, where /proc finds it too.
  private static func takeFromEnvironment() -> String? {
    guard let value = unsafe getenv(variable) else { return nil }
    let password = unsafe String(cString: value)
    unsafe explicit_bzero(value, strlen(value))
    unsafe unsetenv(variable)
    return password
  }

  private static func firstLine(of path: String) throws -> String {
    guard let file = unsafe fopen(path, "re") else {
      throw Failure.unreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    defer { unsafe fclose(file) }
    var status = stat()
    guard unsafe fstat(fileno(file), &status) == 0 else {
      throw Failure.unreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    // A pipe is read by nobody else, whatever its mode.
    if status.st_mode & S_IFMT == S_IFREG, status.st_mode & (S_IRWXG | S_IRWXO) != 0 {
      throw Failure.readableByOthers(path: path)
    }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw Failure.unreadable(path: path, reason: unsafe String(cString: strerror(EISDIR)))
    }
    guard let password = unsafe line(from: fileno(file)), !password.isEmpty else {
      throw Failure.empty(path: path)
    }
    return password
  }

  /// Asks whoever sits at the terminal; `nil` when nobody does.
  private static func ask(
    for user: String, at source: SourceArgument
  ) throws(Failure) -> String? {
    guard let terminal = unsafe fopen("/dev/tty", "r+e") else { return nil }
    defer { unsafe fclose(terminal) }
    let number = unsafe fileno(terminal)
    // A job in the background must not be stopped for a question that nobody sees.
    guard tcgetpgrp(number) == getpgrp() else { return nil }
    var settings = termios()
    guard unsafe tcgetattr(number, &settings) == 0 else { return nil }
    var silent = settings
    // Without signals, nobody leaves a terminal behind that shows nothing: Ctrl-C ends the line.
    silent.c_lflag &= ~tcflag_t(ECHO | ISIG)
    silent.c_cc.11 = interruption
    unsafe tcsetattr(number, TCSAFLUSH, &silent)
    defer {
      unsafe tcsetattr(number, TCSAFLUSH, &settings)
      unsafe fputs("\n", terminal)
    }
    unsafe fputs("Password of \(user) at \(source.bare): ", terminal)
    unsafe fflush(terminal)
    let answer = line(from: number)
    guard let answer, answer.utf8.last != interruption else { throw .interrupted }
    return answer
  }

  /// What Ctrl-C types; at `VEOL`, the eleventh special character, it ends a line.
  private static let interruption: UInt8 = 3

  /// What one reading gives of a terminal's or a file's first line; `nil` at its end.
  private static func line(from descriptor: Int32) -> String? {
    var bytes = [UInt8](repeating: 0, count: maximumLength)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    let content = bytes.prefix(count).prefix { $0 != 0 && $0 != 0x0A && $0 != 0x0D }
    return String(decoding: content, as: UTF8.self)
  }
}

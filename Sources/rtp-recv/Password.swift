import Glibc
import Transports

/// Where a password comes from, so that it need not stand where everybody can read it.
enum Password {
  static let variable = "RTP_RECV_PASSWORD"
  /// Bytes; no camera takes a longer one.
  private static let maximumLength = 1024

  /// Why a password can not be had.
  enum Failure: Error, CustomStringConvertible {
    case unreadable(path: String, reason: String)
    case readableByOthers(path: String)
    case userMissing

    var description: String {
      switch self {
      case .unreadable(let path, let reason): "cannot read the password in \(path): \(reason)"
      case .readableByOthers(let path):
        "\(path) can be read by others than its owner; try: chmod 600 \(path)"
      case .userMissing: "there is a password, but no user name; give it with --user, or in the URL"
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
    if password == nil { password = unsafe getenv(variable).map { unsafe String(cString: $0) } }
    if password == nil, let user { password = ask(for: user, at: source) }
    guard let user else {
      guard file == nil else { throw Failure.userMissing }
      return nil
    }
    return Credentials(user: user, password: password ?? "")
  }

  /// Takes the password out of what other users see of this process's arguments.
  ///
  /// `ps` and `/proc/PID/cmdline` show the memory that the arguments came in.
  static func hide(_ source: String) {
    let shown = SourceArgument(source).shown
    guard shown != source else { return }
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = unsafe CommandLine.unsafeArgv[index],
        unsafe String(cString: argument) == source
      else { continue }
      let length = unsafe strlen(argument)
      var bytes = Array(shown.utf8.prefix(length))
      bytes += [UInt8](repeating: 0, count: length - bytes.count)
      for (offset, byte) in bytes.enumerated() {
        unsafe argument[offset] = CChar(bitPattern: byte)
      }
    }
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
    return unsafe line(from: file) ?? ""
  }

  /// Asks whoever sits at the terminal; `nil` when nobody does.
  private static func ask(for user: String, at source: SourceArgument) -> String? {
    guard let terminal = unsafe fopen("/dev/tty", "r+e") else { return nil }
    defer { unsafe fclose(terminal) }
    let number = unsafe fileno(terminal)
    // A job in the background must not be stopped for a question that nobody sees.
    guard tcgetpgrp(number) == getpgrp() else { return nil }
    var settings = termios()
    guard unsafe tcgetattr(number, &settings) == 0 else { return nil }
    var silent = settings
    silent.c_lflag &= ~tcflag_t(ECHO)
    unsafe tcsetattr(number, TCSAFLUSH, &silent)
    defer {
      unsafe tcsetattr(number, TCSAFLUSH, &settings)
      unsafe fputs("\n", terminal)
    }
    unsafe fputs("Password of \(user) at \(source.bare): ", terminal)
    unsafe fflush(terminal)
    return unsafe line(from: terminal)
  }

  private static func line(from file: UnsafeMutablePointer<FILE>) -> String? {
    var bytes = [CChar](repeating: 0, count: maximumLength)
    guard unsafe fgets(&bytes, Int32(bytes.count), file) != nil else { return nil }
    let content = bytes.prefix { $0 != 0 && $0 != 0x0A && $0 != 0x0D }
    return String(decoding: content.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

import Glibc

/// Passwords and the like that come from outside, kept from others.
package enum Secret {
  /// Why there is none.
  package enum Failure: Error, Sendable, Hashable {
    case unreadable(reason: String)
    case readableByOthers
    case empty
  }

  /// The first line of a file that nobody else can read.
  ///
  /// - Parameters:
  ///   - path: a file or a pipe.
  ///   - limit: bytes that are useful.
  /// - Returns: the line without its end; never an empty one.
  /// - Throws: why there is none.
  package static func firstLine(of path: String, limit: Int) throws(Failure) -> String {
    let line = firstLine(of: try file(path, limit: limit, firstLineOnly: true).bytes)
    guard !line.isEmpty else { throw .empty }
    return line
  }

  /// All of a file that nobody else can read.
  ///
  /// - Parameters:
  ///   - path: a file or a pipe.
  ///   - limit: bytes; a longer one is not read.
  /// - Returns: never an empty text.
  /// - Throws: why there is none.
  package static func text(of path: String, limit: Int) throws(Failure) -> String {
    let bytes = try file(path, limit: limit).bytes
    guard bytes.count <= limit else { throw .unreadable(reason: "it is too long") }
    guard !bytes.isEmpty else { throw .empty }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func file(
    _ path: String, limit: Int, firstLineOnly: Bool = false
  ) throws(Failure) -> ShortFile {
    let file: ShortFile
    do throws(ShortFile.Failure) {
      file = try ShortFile(at: path, limit: limit, firstLineOnly: firstLineOnly)
    } catch { throw .unreadable(reason: error.reason) }
    if file.isExposed, !isCredential(path) { throw .readableByOthers }
    return file
  }

  package static func firstLine(of bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.prefix { $0 != 0 && $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
  }

  /// Checks that a file can be read, and by nobody else, before something else reads it.
  package static func check(_ path: String) throws(Failure) {
    var status = stat()
    guard unsafe access(path, R_OK) == 0, unsafe stat(path, &status) == 0 else {
      throw .unreadable(reason: unsafe String(cString: strerror(errno)))
    }
    if status.isExposed, !isCredential(path) { throw .readableByOthers }
  }

  /// The value of a variable of the environment, which is removed.
  ///
  /// It is wiped in the process's memory, which /proc shows.
  package static func takeFromEnvironment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let secret = unsafe String(cString: value)
    unsafe explicit_bzero(value, strlen(value))
    unsafe unsetenv(name)
    return secret
  }

  /// Lets the system write no core file: a secret stays in memory as long as a connection may have
  /// to be made again.
  package static func forbidCoreDumps() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = unsafe setrlimit(.init(RLIMIT_CORE.rawValue), &none)
  }

  /// The folder in which systemd gives this service its credentials (systemd.exec(5)).
  package static var credentialsFolder: String? {
    unsafe getenv("CREDENTIALS_DIRECTORY").map { unsafe String(cString: $0) }
  }

  /// Whether systemd has put the file there for this service alone: it gives credentials to the
  /// group as well, and lets nobody in by an access list.
  package static func isCredential(_ path: String) -> Bool {
    guard let folder = credentialsFolder else { return false }
    return path.hasPrefix(folder + "/") && !path.contains("/../")
  }
}

extension stat {
  /// Whether others than its owner can read it; nobody else reads what goes through a pipe.
  var isExposed: Bool {
    st_mode & S_IFMT == S_IFREG && st_mode & (S_IRWXG | S_IRWXO) != 0
  }
}

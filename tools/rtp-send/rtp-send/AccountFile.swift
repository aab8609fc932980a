import Glibc
import RTPSend

/// A file of names and passwords, which nobody but its owner may read.
struct AccountFile {
  /// More is no list of accounts.
  private static let longest = 1 << 20

  let accounts: [String: String]

  /// - Throws: ``SendError/invalid(option:reason:)`` when it cannot be read, is open to others, or
  ///   has other lines; the text of the file is in none of them.
  init(_ path: String) throws(SendError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw Self.problem("\(path) cannot be read: \(unsafe String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Self.problem("\(path) is not a file")
    }
    guard status.st_mode & (S_IRWXG | S_IRWXO) == 0 else {
      throw Self.problem("\(path) can be read by others than its owner; try: chmod 600 \(path)")
    }
    guard status.st_size <= Self.longest else { throw Self.problem("\(path) is too long") }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw Self.problem("\(path) cannot be read") }
    do throws(RTSPLogin.AccountFault) {
      accounts = try RTSPLogin.accounts(in: String(decoding: bytes.prefix(count), as: UTF8.self))
    } catch {
      throw Self.problem(
        error.line == 0
          ? "\(path) names nobody"
          : "line \(error.line) of \(path) is not NAME:PASSWORD")
    }
  }

  private static func problem(_ reason: String) -> SendError {
    .invalid(option: "--accounts", reason: "takes a file of accounts: \(reason)")
  }
}

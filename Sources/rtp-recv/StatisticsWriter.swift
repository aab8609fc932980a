import Glibc
import Receiver

/// Writes one JSON object a line to a file, to standard output or to an inherited descriptor.
struct StatisticsWriter {
  struct CannotOpen: Error, CustomStringConvertible {
    let description: String
  }

  private let descriptor: Int32

  /// Opens `target`: a path, `-`, or `fd:N`.
  init(_ target: String) throws {
    if target == "-" {
      descriptor = STDOUT_FILENO
    } else if target.hasPrefix("fd:") {
      guard let number = Int32(target.dropFirst(3)), fcntl(number, F_GETFD) >= 0 else {
        throw CannotOpen(description: "--stats \(target): no such descriptor is open")
      }
      descriptor = number
    } else {
      descriptor = unsafe open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
      guard descriptor >= 0 else {
        let reason = unsafe String(cString: strerror(errno))
        throw CannotOpen(description: "--stats \(target): \(reason)")
      }
    }
  }

  /// Writes `line`; a reader that has gone away costs the statistics and nothing else.
  func write(_ line: JSONLine) {
    let bytes = Array((line.text + "\n").utf8)
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes[written...].withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return }
      written += count
    }
  }
}

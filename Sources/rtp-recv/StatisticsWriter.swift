import Glibc
import Receiver
import Synchronization

/// Writes one JSON object a line to a file, to standard output or to an inherited descriptor.
///
/// The first line that can not be written is the last: half a line would spoil those behind it.
final class StatisticsWriter: Sendable {
  struct CannotOpen: Error, CustomStringConvertible {
    let description: String
  }

  /// Milliseconds for a line, well within what a run may take to end.
  private static let patience: Int32 = 500

  private let descriptor: Int32
  private let name: String
  private let state = Mutex<Int32?>(nil)

  /// Opens `target`: a path, `-`, or `fd:N`.
  init(_ target: String) throws {
    name = target
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

  /// Writes `line`, unless one before it could not be written.
  func write(_ line: JSONLine) {
    state.withLock { failure in
      guard failure == nil else { return }
      failure = BoundedWrite.write(
        Array((line.text + "\n").utf8), to: descriptor, within: Self.patience)
    }
  }

  /// What ended the statistics early, for the person who wanted them, and the status it stands for.
  var complaint: (text: String, status: ExitStatus)? {
    guard let failure = state.withLock(\.self) else { return nil }
    switch failure {
    case EPIPE: return ("the reader of --stats \(name) has gone away", .readerGone)
    case ETIMEDOUT: return ("the reader of --stats \(name) does not read", .outputFailed)
    default:
      let reason = unsafe String(cString: strerror(failure))
      return ("--stats \(name) can not be written: \(reason)", .outputFailed)
    }
  }
}

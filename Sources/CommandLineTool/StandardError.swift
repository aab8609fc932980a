import BlockingIO
import Glibc

/// Messages for the user: lines on standard error that begin with the program's name.
enum StandardError {
  private static let patience = Duration.milliseconds(100)

  static func say(_ message: String) { write("rtp-recv: \(message)\n") }

  static func warn(_ message: String) { say("warning: \(message)") }

  /// Writes `text` as it is; it is dropped if nobody reads.
  static func write(_ text: String) {
    _ = FileWriter(borrowing: STDERR_FILENO).write(text, until: WriteDeadline(in: patience))
  }
}

import BlockingIO
import Glibc

/// Messages for the user: lines on standard error that begin with the program's name.
enum StandardError {
  private static let patience = Duration.milliseconds(100)

  static func say(_ remark: Remark) { write("rtp-recv: \(remark.text)\n") }

  static func say(_ words: String) { say(Remark(words)) }

  /// Writes `text` as it is; it is dropped if nobody reads.
  static func write(_ text: String) {
    _ = FileWriter(borrowing: STDERR_FILENO).write(text, until: WriteDeadline(in: patience))
  }
}

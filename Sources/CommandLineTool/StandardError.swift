import Glibc

/// What is said to the person: whole lines on standard error, each with the program's name in front.
enum StandardError {
  private static let patience = Duration.milliseconds(100)

  static func say(_ message: String) { write("rtp-recv: \(message)\n") }

  static func warn(_ message: String) { say("warning: \(message)") }

  /// Writes `text` as it is; whoever does not read it misses it.
  static func write(_ text: String) {
    _ = BoundedWrite.write(Array(text.utf8), to: STDERR_FILENO, within: patience)
  }
}

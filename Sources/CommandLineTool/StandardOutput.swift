import BlockingIO
import Glibc

/// What the command prints and then ends: help, lists, and the plan of a fleet.
enum StandardOutput {
  private static let patience = Duration.seconds(10)

  /// Writes `text`; a reader that is gone, such as `head`, has read what it wanted.
  static func write(_ text: String) throws(CannotWrite) {
    let output = FileWriter(borrowing: STDOUT_FILENO)
    switch output.write(text, until: WriteDeadline(in: patience)) {
    case nil, .readerGone: break
    case let failure?:
      throw CannotWrite(description: "standard output cannot be written: \(failure.reason)")
    }
  }
}

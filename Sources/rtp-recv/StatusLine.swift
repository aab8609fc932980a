import Glibc

/// The one line on a terminal that is written over and over while a stream runs.
struct StatusLine {
  private var width = 0
  private let isEnabled: Bool

  /// A line on standard error, if that is a terminal and `isWanted`.
  init(isWanted: Bool) {
    isEnabled = isWanted && isatty(STDERR_FILENO) == 1
  }

  /// Replaces what the line shows, cut to the width of the terminal.
  mutating func show(_ text: String) {
    guard isEnabled else { return }
    let shown = String(text.prefix(Self.columns - 1))
    let blanks = String(repeating: " ", count: max(0, width - shown.count))
    width = shown.count
    Self.write("\r\(shown)\(blanks)")
  }

  /// Takes the line away, so that something else can be printed.
  mutating func clear() {
    guard isEnabled, width > 0 else { return }
    Self.write("\r" + String(repeating: " ", count: width) + "\r")
    width = 0
  }

  /// Prints a line of its own on standard error.
  mutating func say(_ text: String) {
    clear()
    Self.write(text + "\n")
  }

  private static var columns: Int {
    var size = winsize()
    let answer = unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size)
    return answer == 0 && size.ws_col > 1 ? Int(size.ws_col) : 80
  }

  /// Writes `text` to standard error as it is; whoever does not read it misses it.
  static func write(_ text: String) {
    _ = BoundedWrite.write(Array(text.utf8), to: STDERR_FILENO, within: 100)
  }
}

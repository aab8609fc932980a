import BlockingIO
import Glibc
import Synchronization

/// Messages for the user: lines on standard error that begin with the program's name, and with that
/// of the camera where there are many.
enum StandardError {
  private static let patience = Duration.milliseconds(100)
  /// The camera of a fleet that speaks.
  @TaskLocal static var speaker: String?

  /// Takes a remark; `false` if it does not any more.
  typealias Listener = @Sendable (_ speaker: String?, Remark) -> Bool

  /// Who is told instead while something else is on the terminal.
  private static let diversion = Mutex<Listener?>(nil)

  /// Has `listener` told what would be on the terminal, until it is `nil`.
  static func divert(_ listener: Listener?) { diversion.withLock { $0 = listener } }

  static func say(_ remark: Remark) {
    if let listener = diversion.withLock(\.self), listener(speaker, remark),
      isatty(STDERR_FILENO) == 1
    {
      return
    }
    let level = isJournal ? "<\(remark.level.rawValue)>" : ""
    let name = speaker.map { "\($0): " } ?? ""
    write("\(level)rtp-recv: \(name)\(remark.text)\n")
  }

  static func say(_ words: String) { say(Remark(words)) }

  /// Whether it is read by systemd's journal, which takes a level before each line
  /// (sd-daemon(3)).
  private static let isJournal: Bool = {
    var status = stat()
    guard let stream = Environment.value(of: "JOURNAL_STREAM"),
      unsafe fstat(STDERR_FILENO, &status) == 0
    else { return false }
    return stream == "\(status.st_dev):\(status.st_ino)"
  }()

  /// Writes `text` as it is; it is dropped if nobody reads.
  static func write(_ text: String) {
    _ = FileWriter(borrowing: STDERR_FILENO).write(text, until: WriteDeadline(in: patience))
  }
}

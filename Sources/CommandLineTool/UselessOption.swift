import ArgumentParser
import Synchronization

/// An option that was typed where it has no effect.
///
/// On a command line that is a mistake. Among the defaults of a fleet it is left out for the
/// cameras that have no use for it.
struct UselessOption: Sendable {
  let option: String
  /// What follows the option's name in a message.
  let words: String

  init(_ option: String, _ words: String) { (self.option, self.words) = (option, words) }

  /// The error to throw; the option is noted beside it, because ArgumentParser hides errors in one
  /// of its own.
  func noted() -> ValidationError {
    Self.note?.take(option)
    return ValidationError("\(option) \(words)")
  }

  /// Where the option is noted while a camera's command is checked.
  @TaskLocal static var note: Note?

  final class Note: Sendable {
    private let found = Mutex<String?>(nil)

    var option: String? { found.withLock(\.self) }

    func take(_ option: String) { found.withLock { $0 = option } }
  }
}

import Glibc

/// Why a decoder's process is of no use any more.
enum BoxFault: Error, Sendable, Hashable {
  /// It cannot be started; `code` is the `errno` value.
  case notStarted(code: Int32)
  /// It ended by itself.
  case ended
  /// It did not answer in time.
  case silent
  /// What it sent cannot be right.
  case breach(StaticText)
  /// It says itself that it cannot decode.
  case refused(DecoderError)

  /// Words of the program, none of which came from outside.
  struct StaticText: Sendable, Hashable, ExpressibleByStringLiteral {
    let words: String

    init(stringLiteral words: String) { self.words = words }
  }

  /// What happened, for people; `status` is how the process ended, as wait(2) has it.
  func words(status: Int32) -> String {
    switch self {
    case .notStarted(let code): unsafe "it cannot be started: \(String(cString: strerror(code)))"
    case .ended where status & 0x7F != 0: "it was ended by signal \(status & 0x7F)"
    case .ended where status >> 8 & 0xFF == DecoderService.statusWithoutMemory:
      "it needed more memory than it may have"
    case .ended: "it ended with status \(status >> 8 & 0xFF)"
    case .silent: "it did not answer in time"
    case .breach(let text): "it broke the protocol: \(text.words)"
    case .refused(let error): "\(error)"
    }
  }
}

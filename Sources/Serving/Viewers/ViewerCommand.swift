/// What a page asks for, in a text message: a word, and the name of a camera.
enum ViewerCommand: Sendable, Hashable {
  /// How pictures come.
  enum Form: String, Sendable, Hashable {
    /// As they were coded by the sender.
    case coded = "watch"
    /// Decoded here.
    case jpeg
  }

  case watch(String, Form)
  case stop(String)
  case listen(String)
  case mute

  /// A camera's name has at most 63 letters.
  static let longest = 80

  /// Reads a message; `nil` if it is none.
  init?(_ text: some StringProtocol) {
    guard text.utf8.count <= Self.longest else { return nil }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    switch (words.first.map { String($0) }, words.count) {
    case ("mute", 1): self = .mute
    case ("stop", 2): self = .stop(String(words[1]))
    case ("listen", 2): self = .listen(String(words[1]))
    case (let word?, 2):
      guard let form = Form(rawValue: word) else { return nil }
      self = .watch(String(words[1]), form)
    default: return nil
    }
  }
}

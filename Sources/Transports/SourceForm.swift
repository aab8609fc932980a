/// How a SOURCE argument is written, for the help.
public struct SourceForm: Sendable, Hashable {
  /// What to type, such as `udp://HOST:PORT`.
  public let text: String
  /// What happens then; lines of at most 53 characters.
  public let explanation: String

  public init(_ text: String, _ explanation: String) {
    self.text = text
    self.explanation = explanation
  }
}

/// Something of a far end that is not as it should be and was tolerated, said for a person.
public struct TransportDiagnostic: Sendable, Hashable {
  /// One sentence.
  public let words: String
  /// Whether everybody is to know it, and not only who looks after the far end.
  public let isWarning: Bool

  public init(_ words: String, isWarning: Bool = false) {
    self.words = words
    self.isWarning = isWarning
  }

  static func warning(_ words: String) -> TransportDiagnostic {
    TransportDiagnostic(words, isWarning: true)
  }
}

extension TransportDiagnostic: ExpressibleByStringInterpolation {
  public init(stringLiteral words: String) { self.init(words) }
}

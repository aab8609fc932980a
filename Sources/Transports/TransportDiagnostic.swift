/// What a transport tolerated or chose, said for a person.
public struct TransportDiagnostic: Sendable, Hashable {
  /// How much it matters.
  public enum Weight: Sendable, Hashable {
    /// For whoever looks after the far end.
    case remark
    /// For everybody.
    case warning
    /// For everybody: what comes, which is no media. A run without media is judged with it.
    case content
  }

  /// One sentence.
  public let words: String
  public let weight: Weight

  /// Whether everybody is to know it, and not only who looks after the far end.
  public var isWarning: Bool { weight != .remark }

  public init(_ words: String, weight: Weight = .remark) {
    self.words = words
    self.weight = weight
  }

  static func warning(_ words: String) -> TransportDiagnostic {
    TransportDiagnostic(words, weight: .warning)
  }

  static func content(_ words: String) -> TransportDiagnostic {
    TransportDiagnostic(words, weight: .content)
  }
}

extension TransportDiagnostic: ExpressibleByStringInterpolation {
  public init(stringLiteral words: String) { self.init(words) }
}

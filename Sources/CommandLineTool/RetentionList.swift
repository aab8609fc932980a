import ArgumentParser
import Outputs

/// Limits of what is kept, with commas between them.
struct RetentionList {
  struct Limit {
    let text: String
    let rule: RetentionRule

    /// Whether `other` limits the same thing, so that one of the two says nothing.
    func isLike(_ other: Limit) -> Bool {
      switch (rule, other.rule) {
      case (.age, .age), (.bytes, .bytes), (.free, .free): true
      case (.age, _), (.bytes, _), (.free, _): false
      }
    }
  }

  let limits: [Limit]

  /// Reads an option's value.
  static func read(_ argument: String) throws -> RetentionList {
    let limits = try argument.split(separator: ",", omittingEmptySubsequences: false).map {
      guard let rule = rule(String($0)) else {
        throw ValidationError(
          "a limit is a time (12h, 7d), a size (500GB, 100MiB), or a size that stays free "
            + "(free=20GB); units of time are \(TimeSpan.unitNames), and of size "
            + ByteCount.unitNames)
      }
      return Limit(text: String($0), rule: rule)
    }
    return RetentionList(limits: limits)
  }

  private static func rule(_ text: String) -> RetentionRule? {
    if let time = TimeSpan(argument: text) { return .age(time.duration) }
    if text.hasPrefix("free=") { return ByteCount(text.dropFirst(5)).map { .free($0.bytes) } }
    return ByteCount(text[...]).map { .bytes($0.bytes) }
  }
}

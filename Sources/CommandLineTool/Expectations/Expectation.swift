/// One rule of `--expect`: a metric, a comparison and a value, such as `loss<=0.1%`.
struct Expectation: Sendable {
  /// How the measured value compares with the expected one.
  enum Comparison: String, Sendable, CaseIterable {
    // The longer ones first, as they are tried.
    case atMost = "<="
    case atLeast = ">="
    case notEqual = "!="
    case less = "<"
    case more = ">"
    case equal = "="
  }

  /// What is compared with.
  enum Value: Sendable, Hashable {
    /// In the unit of the metric.
    case number(Double)
    /// From 0 to 1: a share of all, where the metric is a number of them.
    case share(Double)
    /// In lower case.
    case word(String)
  }

  let metric: ExpectedMetric
  let comparison: Comparison
  let value: Value
  /// The rule as it was written, without spaces.
  let text: String

  /// The rules in `list`, which commas separate.
  ///
  /// - Throws: an ``ExpectationError`` about the first rule that cannot be read.
  static func list(_ list: String) throws -> [Expectation] {
    let rules = list.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
    guard rules.count == 1 || !rules.contains("") else {
      throw ExpectationError(
        rule: list, problem: "there is a comma without a rule beside it", remedy: "leave it out")
    }
    return try rules.map { try Expectation($0) }
  }

  /// Reads `rule`, in which spaces mean nothing.
  private init(_ rule: String) throws {
    let name = rule.prefix { $0.isLetter || $0 == "_" }
    let rest = rule.dropFirst(name.count).drop(while: \.isWhitespace)
    guard let metric = ExpectedMetric.all.first(where: { $0.name == name.lowercased() }) else {
      throw ExpectationError(
        rule: rule,
        problem: name.isEmpty
          ? "a rule begins with what is measured" : "there is no metric named '\(name)'",
        remedy: "there are \(ExpectedMetric.names)")
    }
    let comparison = Comparison.allCases.first { rest.hasPrefix($0.rawValue) }
    let shown = rest.dropFirst(comparison?.rawValue.count ?? 0).drop(while: \.isWhitespace)
    guard let comparison, metric.kind.comparisons.contains(comparison),
      !Self.isOperator(shown.first)
    else {
      throw ExpectationError(
        rule: rule, problem: "\(metric.name) is not followed by a comparison that it has",
        remedy: "there are " + metric.kind.comparisons.map(\.rawValue).joined(separator: " "))
    }
    let written = shown.filter { !$0.isWhitespace }
    guard let value = metric.kind.value(written), metric.allows(value) else {
      let isSeveral = shown.contains { Self.isOperator($0) || ";&".contains($0) }
      throw ExpectationError(
        rule: rule, problem: "'\(shown)' is no value of \(metric.name)",
        remedy: isSeveral ? "rules are separated by commas" : metric.remedy)
    }
    self.metric = metric
    self.comparison = comparison
    self.value = value
    text = rule.filter { !$0.isWhitespace }
  }

  /// Whether comparisons are made of it.
  private static func isOperator(_ character: Character?) -> Bool {
    character.map { "<>=!".contains($0) } ?? false
  }
}

/// A rule of `--expect` that cannot be read, or not be measured.
struct ExpectationError: Error, CustomStringConvertible {
  let rule: String
  let problem: String
  /// What there is instead.
  let remedy: String

  var description: String { "--expect '\(rule)': \(problem); \(remedy)" }
}

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
    try list.split(separator: ",", omittingEmptySubsequences: false).map {
      try Expectation(String($0.filter { !$0.isWhitespace }))
    }
  }

  private init(_ rule: String) throws {
    let name = rule.prefix { $0.isLetter || $0 == "_" }
    let rest = rule.dropFirst(name.count)
    guard let metric = ExpectedMetric.all.first(where: { $0.name == name.lowercased() }) else {
      throw ExpectationError(
        rule: rule,
        problem: name.isEmpty
          ? "a rule begins with what is measured" : "there is no metric named '\(name)'",
        remedy: "there are \(ExpectedMetric.names)")
    }
    let comparison = Comparison.allCases.first { rest.hasPrefix($0.rawValue) }
    guard let comparison, metric.kind.comparisons.contains(comparison) else {
      throw ExpectationError(
        rule: rule, problem: "\(metric.name) is not followed by a comparison that it has",
        remedy: "there are " + metric.kind.comparisons.map(\.rawValue).joined(separator: " "))
    }
    let written = String(rest.dropFirst(comparison.rawValue.count))
    guard let value = metric.kind.value(written) else {
      throw ExpectationError(
        rule: rule, problem: "'\(written)' is no value of \(metric.name)",
        remedy: "try \(metric.kind.examples)")
    }
    self.metric = metric
    self.comparison = comparison
    self.value = value
    text = rule
  }
}

/// A rule of `--expect` that cannot be read.
struct ExpectationError: Error, CustomStringConvertible {
  let rule: String
  let problem: String
  /// What there is instead.
  let remedy: String

  var description: String { "--expect '\(rule)': \(problem); \(remedy)" }
}

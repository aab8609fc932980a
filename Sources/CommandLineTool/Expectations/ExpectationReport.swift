import Outputs

/// The result of `--expect`: each rule, what was measured, and whether it holds.
struct ExpectationReport: Sendable {
  private struct Entry: Sendable {
    let rule: Expectation
    let measurement: Measurement
    /// `nil` if it could not be measured.
    let isMet: Bool?

    /// What the measured value is: of a part, what it was compared as.
    var kind: ExpectedMetric.Kind {
      if case .share = rule.value { .share } else { rule.metric.kind }
    }

    /// The measured number, or the least that it can be; `nil` where it is none.
    var number: Double? {
      switch measurement {
      case .number(let value), .atLeast(let value, _): value
      case .part(let value, of: let all): kind == .share ? value / all : value
      case .words, .unknown: nil
      }
    }
  }

  private let entries: [Entry]

  init(_ rules: [Expectation], of run: MeasuredRun) {
    entries = rules.map { rule in
      let measurement = rule.metric.measure(run)
      return Entry(
        rule: rule, measurement: measurement, isMet: rule.isMet(by: measurement))
    }
  }

  /// The exit status of a run that was without errors otherwise.
  ///
  /// A rule that is certainly broken says more than one that could not be measured.
  var status: ExitStatus {
    if entries.contains(where: { $0.isMet == false }) { return .expectationBroken }
    return entries.contains { $0.isMet == nil } ? .notMeasured : .done
  }

  /// What to tell people: a line for each rule that does not hold.
  var complaints: [String] {
    entries.filter { $0.isMet != true }.map { entry in
      let found = Self.shown(entry)
      if let reason = entry.measurement.reason, entry.isMet == nil {
        return "\(entry.rule.text) could not be measured: \(reason)"
      }
      return "expected \(entry.rule.text), but \(entry.rule.metric.name) was \(found)"
    }
  }

  /// The result as an object.
  var json: JSONLine {
    var object = JSONLine()
    object.add("held", Self.all(entries.map(\.isMet)))
    object.add(
      "rules",
      entries.map { entry in
        var object = JSONLine()
        object.add("rule", entry.rule.text)
        object.add("metric", entry.rule.metric.name)
        if case .words(let words) = entry.measurement {
          object.add("measured", words.joined(separator: ","))
        } else {
          object.add(
            "measured", entry.number.map { Self.scaled($0, entry.kind) },
            digits: entry.kind.isWhole ? 0 : 6)
        }
        object.add("unit", entry.kind.unit)
        object.add("held", entry.isMet)
        object.add("reason", entry.measurement.reason)
        return object
      })
    return object
  }

  private static func all(_ answers: [Bool?]) -> Bool? {
    if answers.contains(false) { return false }
    return answers.contains(nil) ? nil : true
  }

  private static func shown(_ entry: Entry) -> String {
    let figure = entry.number.map { shown($0, entry.kind) } ?? ""
    switch entry.measurement {
    case .words(let words): return words.joined(separator: ", then ")
    case .unknown(let reason): return reason
    case .number, .part: return figure
    case .atLeast: return "at least " + figure
    }
  }

  private static func shown(_ value: Double, _ kind: ExpectedMetric.Kind) -> String {
    let digits = scaled(value, kind).formatted(digits: kind.isWhole ? 0 : 3)
    // Of a rate, people read the name as the unit.
    return [digits, kind == .rate ? nil : kind.unit].compactMap(\.self).joined(separator: " ")
  }

  /// Shares are shown as percentages.
  private static func scaled(_ value: Double, _ kind: ExpectedMetric.Kind) -> Double {
    kind == .share ? value * 100 : value
  }
}

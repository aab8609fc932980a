import ArgumentParser
import Outputs
import Receiver

extension RTPRecv {
  /// Throws if a rule of `--expect` cannot be read, or is about decoded frames where none are.
  ///
  /// It is no ``UselessOption``: a rule that all cameras of a fleet have must not go unchecked for
  /// one of them without a word.
  func checkExpectations() throws {
    let rules = try expectation.rules()
    // Whether a fleet has a page is not known here; what its camera lacks is said at the end.
    guard let rule = rules.first(where: \.metric.needsDecoding),
      try !outputs.requests().areDecoded(isShown: page.address != nil)
    else { return }
    let mistake = ExpectationError(
      rule: rule.text, problem: "decoded frames alone show that, and nothing is decoded here",
      remedy: "add -o FILE.jsonl")
    throw ValidationError("\(mistake)")
  }
}

extension [OutputRequest] {
  /// Whether frames come out for them, and not access units alone; `isShown` says that the stream
  /// is on the page, which is not decoded here.
  func areDecoded(isShown: Bool) -> Bool {
    isEmpty ? !isShown : contains { $0.format.inputs.needDecoding }
  }
}

import ArgumentParser
import Outputs
import Receiver

extension RTPRecv {
  /// Throws if a rule of `--expect` cannot be read, or is about decoded frames where none are.
  ///
  /// A fleet warns of the latter: what one camera cannot show is no reason to receive none.
  func checkExpectations() throws {
    let mistake = try unmeasurableRule()
    guard CommandLineSecrets.ofCamera == nil, let mistake else { return }
    throw ValidationError("\(mistake)")
  }

  /// The first rule about decoded frames, where there are none; its result would be 16.
  func unmeasurableRule() throws -> ExpectationError? {
    let rules = try expectation.rules()
    guard let rule = rules.first(where: \.metric.needsDecoding),
      try !outputs.requests().areDecoded(isShown: page.address != nil)
    else { return nil }
    return ExpectationError(
      rule: rule.text, problem: "decoded frames alone show that, and nothing is decoded here",
      remedy: "add -o FILE.jsonl")
  }
}

extension [OutputRequest] {
  /// Whether frames come out for them, and not access units alone; `isShown` says that the stream
  /// is on the page, which is not decoded here.
  func areDecoded(isShown: Bool) -> Bool {
    isEmpty ? !isShown : contains { $0.format.inputs.needDecoding }
  }
}

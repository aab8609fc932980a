import Testing

@testable import Transports

/// What came of playing from a scripted server.
struct Outcome: Sendable {
  /// The frames that came out, by their place in the clip; a damaged one is not whole.
  var frames: [(index: Int, isWhole: Bool)] = []
  /// How it ended: `finished`, `running`, or the name of the error.
  var end = "running"
  /// The names of the deviations that were reported.
  var reports: Set<String> = []
  var requests: [ScriptedServer.Request] = []
  /// Until the end, in seconds of whatever clock there was.
  var seconds = 0.0
  /// Everything that was said for people to read.
  var texts: [String] = []

  /// Expects all that the script says is to come of it.
  func check(_ script: Script, port: Int) {
    for expectation in script.expectations {
      switch expectation {
      case .frames(let wanted): #expect(ClipPackets.description(of: frames) == wanted)
      case .end(let wanted): #expect(end == wanted)
      case .report(let wanted): #expect(reports.contains(wanted), "\(reports)")
      case .within(let wanted): #expect(seconds <= wanted)
      case .never(let secret):
        for text in texts { #expect(!text.contains(secret)) }
      case .requests(let method, let count):
        #expect(requests.filter { $0.method == method }.count == count, "\(requests)")
      case .request(let method, let text, let isExpected):
        let text = text.replacing("{port}", with: "\(port)")
        let isThere = requests.contains { $0.method == method && $0.head.contains(text) }
        #expect(isThere == isExpected, "\(requests.map(\.head))")
      }
    }
  }
}

/// The name of an enumeration's case, without what it carries.
func caseName(of value: Any) -> String {
  // A case that carries something is its label; another one is printed as it is written.
  if let label = Mirror(reflecting: value).children.first?.label { return label }
  var text = ""
  dump(value, to: &text)
  return String((text.split(separator: ".").last ?? "").prefix { $0.isLetter })
}

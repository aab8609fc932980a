import Testing

@testable import Transports

/// The result of playing from a scripted server.
struct Outcome: Sendable {
  /// The frames that came out, by their place in the clip; a damaged one is not whole.
  var frames: [Frame] = []
  /// How it ended: `finished`, `running`, or the name of the error.
  var end = "running"
  /// The names of the deviations that were reported, if they are known by name.
  var reports: Set<String>? = []
  var requests: [ScriptedServer.Request] = []
  /// Until the end, in seconds of the virtual clock, if there was one.
  var seconds: Double? = 0
  /// What the last connection brought.
  var bytesFromServer: Int?
  /// Everything that was said for people to read.
  var texts: [String] = []

  /// Frames that were said to be whole and are not.
  var passedOffAsWhole: [Int] { frames.filter(\.isPassedOffAsWhole).map(\.index) }

  /// Checks everything that the script expects.
  func check(_ script: Script, port: Int) {
    #expect(passedOffAsWhole == [])
    for expectation in script.expectations {
      switch expectation {
      case .frames(let wanted): #expect(Frame.description(of: frames) == wanted)
      case .end(let wanted): #expect(end == wanted)
      case .report(let wanted):
        if let reports { #expect(reports.contains(wanted), "\(reports)") }
      case .within(let wanted):
        if let seconds {
          #expect(seconds <= wanted)
        } else if script.given["patience"] == nil {
          // The machine's clock would show how busy it is, but an end in time is not by silence.
          #expect(!["noMedia", "mediaStopped"].contains(end))
        }
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

/// The name of an enumeration's case, without associated values.
func caseName(of value: Any) -> String {
  // A case that carries something is its label; the others only have a description for people.
  if let label = Mirror(reflecting: value).children.first?.label { return label }
  switch value {
  case RTSPError.connectionClosed: return "connectionClosed"
  case RTSPError.brokenOff: return "brokenOff"
  case RTSPError.emptyDescription: return "emptyDescription"
  case RTSPError.noVideo: return "noVideo"
  case RTSPError.deliveryRefused: return "deliveryRefused"
  case TLSError.notEncrypted: return "notEncrypted"
  case TLSError.closedInHandshake: return "closedInHandshake"
  case let diagnostic as RTSPDiagnostic: return Diagnostics.names[diagnostic] ?? "\(diagnostic)"
  default: return "\(value)"
  }
}

private enum Diagnostics {
  static let names: [RTSPDiagnostic: String] = [
    .wrongSequence: "wrongSequence", .unexpectedResponse: "unexpectedResponse",
    .sessionIdentifierChanged: "sessionIdentifierChanged", .reconnected: "reconnected",
    .transportIncomplete: "transportIncomplete", .otherDelivery: "otherDelivery",
    .udpRefused: "udpRefused", .udpSilent: "udpSilent",
    .controlURLRewritten: "controlURLRewritten",
  ]
}

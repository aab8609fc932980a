import Testing

@testable import Transports

struct RTSPErrorTests {
  private static let errors: [RTSPError] = {
    let hostile =
      "\u{1B}[31mred\u{7}\r\n\u{202E}desrever\u{0}" + String(repeating: "x", count: 9999)
    return [
      .credentialsMissing(realm: hostile), .credentialsRefused(realm: hostile),
      .credentialsNotForwarded(to: hostile), .authenticationUnsupported(schemes: []),
      .authenticationUnsupported(schemes: Array(repeating: hostile, count: 20)),
      .connectTimedOut(seconds: 10), .noResponse(method: "PLAY", seconds: 10),
      .noMedia(seconds: 5, isOverUDP: true), .noMedia(seconds: 5, isOverUDP: false),
      .mediaStopped(seconds: 5), .otherStreams, .redirectedTooOften(limit: 3),
      .redirectRefused(to: hostile), .framingLost(skipped: 65_536),
      .messageTooLarge(what: hostile, limit: 1), .invalidLength(hostile), .connectionClosed,
      .sessionDescription(.notADescription), .emptyDescription, .noVideo, .noKnownMedia,
      .noSuchStream(number: 7), .unsupportedProfile(hostile), .deliveryRefused,
    ]
      + [200, 400, 403, 404, 453, 500, 999].map {
        .refused(method: "SETUP", status: $0, reason: hostile)
      }
  }()

  @Test(arguments: errors)
  func everyErrorIsOneLineThatNoServerCanWriteInto(error: RTSPError) {
    let text = "\(error)"
    #expect(!text.isEmpty)
    #expect(text.unicodeScalars.count < 450)
    #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
    #expect(!text.contains("\u{202E}"))
  }

  @Test func whereThePathOfACameraIsFoundIsAdvised() {
    let error = RTSPError.refused(method: "DESCRIBE", status: 404, reason: "Not Found")
    #expect("\(error)".hasSuffix("with 404 Not Found; check the path in the URL"))
    #expect(error.advice == .paths)
    #expect(RTSPError.refused(method: "DESCRIBE", status: 410, reason: "Gone").advice == nil)
  }

  @Test(arguments: [404, 410])
  func aPathThatLeadsNowhereIsNoSuchStream(status: Int) {
    let error = RTSPError.refused(method: "DESCRIBE", status: status, reason: "")
    #expect(error.outcome == .noSuchStream)
  }

  @Test(arguments: [403, 407])
  func whoIsNotAllowedInHasTheStatusOfARefusedLogin(status: Int) {
    let error = RTSPError.refused(method: "DESCRIBE", status: status, reason: "")
    #expect(error.fault == .login)
    #expect(error.outcome == .credentials)
  }

  @Test func anAddressIsNamedWithoutTheUserInIt() {
    for address in ["rtsp://admin:hunter2@cam/x", "http://admin:hunter2@x", "admin:hunter2@x"] {
      #expect(!"\(RTSPError.redirectRefused(to: address))".contains("hunter2"))
      #expect(!"\(RTSPDiagnostic.redirected(to: address))".contains("hunter2"))
    }
  }

  @Test(arguments: ["Nicht gefunden – 404", "カメラ", "Ünïcödé"])
  func wordsOfOtherLanguagesStay(text: String) {
    #expect(text.printable == text)
  }
}

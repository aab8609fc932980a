import Impairment
import Testing

@testable import RTPSend

/// What quirks do to the answers of an RTSP server.
@Suite struct QuirkyAnswersTests {
  private static func request(_ method: String, _ headers: String...) -> RTSPText {
    RTSPText(lines: ["\(method) rtsp://camera/a RTSP/1.0"] + headers, body: [])
  }

  /// The answers to the requests of a client.
  private static func answers(_ quirks: Set<Quirk>) -> [RTSPText?] {
    var answers = QuirkyAnswers(quirks)
    let exchanges: [(String, [String], String)] = [
      ("OPTIONS", ["Public: DESCRIBE"], ""),
      (
        "DESCRIBE", ["Content-Base: rtsp://camera/a/", "Content-Type: application/sdp"],
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n"
      ),
      ("SETUP", ["Session: A1;timeout=60", "Transport: RTP/AVP/TCP;interleaved=0-1;ssrc=1A"], ""),
      ("SETUP", ["Session: A1;timeout=60", "Transport: RTP/AVP/TCP;interleaved=2-3;ssrc=1B"], ""),
      ("PLAY", ["Session: A1", "RTP-Info: url=rtsp://camera/a/1;seq=7;rtptime=9"], ""),
      ("GET_PARAMETER", ["Session: A1"], ""),
    ]
    return exchanges.enumerated().map { number, exchange in
      let (method, headers, body) = exchange
      var request = request(
        method, "CSeq: \(number)", method == "OPTIONS" ? "A: b" : "Session: A1-2;timeout=60")
      answers.restore(&request)
      if quirks.contains(.sessionChanges), number > 2 { #expect(request["Session"] == "A1") }
      return answers.change(
        RTSPText(
          lines: ["RTSP/1.0 200 OK", "CSeq: \(number)"] + headers
            + (body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]),
          body: Array(body.utf8)))
    }
  }

  @Test func withoutQuirksNothingChanges() {
    #expect(Self.answers([.padding]) == Self.answers([]))
  }

  @Test(arguments: Quirk.allCases.filter { $0.place == .session && $0 != .strayFrames })
  func everyQuirkShows(quirk: Quirk) {
    #expect(Self.answers([quirk]) != Self.answers([]))
  }

  @Test(arguments: [
    (Quirk.optionsFail, 0, "RTSP/1.0 501 Not Implemented"), (.noReason, 0, "RTSP/1.0 200"),
    (.oddHeaders, 0, "CSEQ: 0  "), (.baseWithoutScheme, 1, "Content-Base: camera/a/"),
    (.baseTwice, 1, "Content-Base: rtsp://rtsp://camera/a/"),
    (.noOrigin, 1, "Content-Length: 5"),
    (.ssrcFirst, 2, "Transport: RTP/AVP/TCP;ssrc=1A;interleaved=0-1"),
    (.ssrcSpace, 2, "Transport: RTP/AVP/TCP;interleaved=0-1;ssrc= 1A"),
    (.oneChannel, 3, "Transport: RTP/AVP/TCP;interleaved=2;ssrc=1B"),
    (.transportSaysUDP, 3, "Transport: RTP/AVP;interleaved=2-3;ssrc=1B"),
    (.sessionChanges, 3, "Session: A1-2;timeout=60"),
    (.infoSequenceZero, 4, "RTP-Info: url=rtsp://camera/a/1;seq=0;rtptime=9"),
    (.infoTimeNegative, 4, "RTP-Info: url=rtsp://camera/a/1;seq=7;rtptime=-1"),
    (.infoSemicolon, 4, "RTP-Info: url=rtsp://camera/a/1;seq=7;rtptime=9;"),
  ])
  func itSays(quirk: Quirk, number: Int, line: String) {
    let answer = Self.answers([quirk])[number]
    #expect(answer?.lines.contains(line) == true, "\(answer?.lines ?? [])")
  }

  @Test func keepalivesAreNotAnswered() {
    let answers = Self.answers([.keepalivesUnanswered])
    #expect(answers[5] == nil && answers[0] != nil)
  }
}

import Impairment
import NIOCore
import Testing

@testable import RTPSend

/// What quirks do to the answers of an RTSP server.
@Suite struct QuirkyAnswersTests {
  private static func request(_ method: String, _ headers: String...) -> RTSPText {
    RTSPText(lines: ["\(method) rtsp://camera/a RTSP/1.0"] + headers, body: [])
  }

  /// The answers to the requests of a client, which may do without DESCRIBE.
  private static func answers(
    _ quirks: Set<Quirk>, describes: Bool = true, tracks: Int = 3
  ) -> [QuirkyAnswers.Answer?] {
    var answers = QuirkyAnswers(quirks)
    let exchanges: [(String, [String], String)] = [
      ("OPTIONS", ["Public: DESCRIBE"], ""),
      (
        "DESCRIBE", ["Content-Base: rtsp://camera/a/", "Content-Type: application/sdp"],
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n"
          + String(repeating: "m=video 0 RTP/AVP 96\r\n", count: tracks)
      ),
      ("SETUP", ["Session: A1;timeout=60", "Transport: RTP/AVP/TCP;interleaved=0-1;ssrc=1A"], ""),
      ("SETUP", ["Session: A1;timeout=60", "Transport: RTP/AVP/TCP;interleaved=2-3;ssrc=1B"], ""),
      ("PLAY", ["Session: A1", "RTP-Info: url=rtsp://camera/a/1;seq=7;rtptime=9"], ""),
      ("GET_PARAMETER", ["Session: A1"], ""), ("PAUSE", ["Session: A1"], ""),
      ("SET_PARAMETER", ["Session: A1"], ""),
    ]
    return exchanges.enumerated().map { number, exchange in
      let (method, headers, body) = exchange
      guard describes || method != "DESCRIBE" else { return nil }
      var request = request(
        method, "CSeq: \(number)", method == "OPTIONS" ? "A: b" : "Session: A1-2;timeout=60")
      answers.restore(&request)
      if quirks.contains(.sessionChanges), number > 2 { #expect(request["Session"] == "A1") }
      switch answers.refusal(of: request) {
      case .answer(let answer): return QuirkyAnswers.Answer(text: answer)
      case .close: return nil
      case nil: break
      }
      return answers.change(
        RTSPText(
          lines: ["RTSP/1.0 200 OK", "CSeq: \(number)"] + headers
            + (body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]),
          body: Array(body.utf8)))
    }
  }

  @Test func withoutQuirksNothingChanges() {
    let answers = Self.answers([.padding])
    #expect(answers == Self.answers([]))
    #expect(answers.allSatisfy { $0?.company == .alone })
  }

  /// For a base by IPv6, see below; what is refused over UDP is no answer.
  @Test(
    arguments: Quirk.allCases.filter {
      $0.place == .session && ![.baseWithoutBrackets, .punchRefused].contains($0)
    })
  func everyQuirkShows(quirk: Quirk) {
    let isShown =
      Self.answers([quirk]) != Self.answers([])
      || Self.answers([quirk], describes: false) != Self.answers([], describes: false)
    #expect(isShown)
  }

  @Test(arguments: [
    (Quirk.optionsFail, 0, "RTSP/1.0 501 Not Implemented"), (.noReason, 0, "RTSP/1.0 200"),
    (.optionsMissing, 0, "RTSP/1.0 404 Not Found"),
    (.baseWithoutBrackets, 1, "Content-Base: rtsp://camera/a/"),
    (.controlQuery, 2, "RTSP/1.0 401 Unauthorized"), (.noNumberBelowOne, 1, "CSeq: 1"),
    (.oddHeaders, 0, "CSEQ: 0  "), (.baseWithoutScheme, 1, "Content-Base: camera/a/"),
    (.baseTwice, 1, "Content-Base: rtsp://rtsp://camera/a/"),
    (.noOrigin, 1, "Content-Length: 71"),
    (.baseWithoutSlash, 1, "Content-Base: rtsp://camera/a"),
    (.ssrcFirst, 2, "Transport: RTP/AVP/TCP;ssrc=1A;interleaved=0-1"),
    (.ssrcSpace, 2, "Transport: RTP/AVP/TCP;interleaved=0-1;ssrc= 1A"),
    (.oneChannel, 3, "Transport: RTP/AVP/TCP;interleaved=2;ssrc=1B"),
    (.transportSaysUDP, 3, "Transport: RTP/AVP;interleaved=2-3;ssrc=1B"),
    (.sessionChanges, 3, "Session: A1-2;timeout=60"),
    (.infoSequenceZero, 4, "RTP-Info: url=rtsp://camera/a/1;seq=0;rtptime=9"),
    (.infoTimeNegative, 4, "RTP-Info: url=rtsp://camera/a/1;seq=7;rtptime=-1"),
    (.infoSemicolon, 4, "RTP-Info: url=rtsp://camera/a/1;seq=7;rtptime=9;"),
    (.otherChannels, 3, "Transport: RTP/AVP/TCP;interleaved=12-13;ssrc=1B"),
    (.shortTimeout, 2, "Session: A1;timeout=2"), (.reportInterval, 4, "RTCP-Interval: 250"),
    (.rangeNeeded, 4, "RTSP/1.0 457 Invalid Range"),
    (.agentNeeded, 0, "RTSP/1.0 401 Unauthorized"),
    (.keepalivesRefused, 5, "RTSP/1.0 400 Bad Request"), (.keepalivesRefused, 5, "CSeq: 4"),
    (.pauseFails, 6, "RTSP/1.0 551 Option not supported"),
  ])
  func itSays(quirk: Quirk, number: Int, line: String) {
    let answer = Self.answers([quirk])[number]?.text
    #expect(answer?.lines.contains(line) == true, "\(answer?.lines ?? [])")
  }

  @Test func aNumberBelowOneIsNotCopied() {
    let lines = Self.answers([.noNumberBelowOne])[0]?.text.lines
    #expect(lines == ["RTSP/1.0 200 OK", "Public: DESCRIBE"])
  }

  @Test(
    arguments: [
      ([.baseWithoutBrackets], "rtsp://fe80::1%25eth0:8554/a/"),
      ([.baseWithoutBrackets, .baseWithoutSlash], "rtsp://fe80::1%25eth0:8554/a"),
      ([.baseWithoutBrackets, .baseWithoutScheme], "fe80::1%25eth0:8554/a/"),
      ([.baseTwice, .baseWithoutSlash], "rtsp://rtsp://[fe80::1%25eth0]:8554/a"),
    ] as [(Set<Quirk>, String)])
  func aBaseByIPv6(quirks: Set<Quirk>, base: String) {
    var answers = QuirkyAnswers(quirks)
    let answer = answers.change(
      RTSPText(
        lines: ["RTSP/1.0 200 OK", "Content-Base: rtsp://[fe80::1%25eth0]:8554/a/"], body: []))
    #expect(answer?.text["Content-Base"] == base)
  }

  @Test func controlURLsHaveAQueryThatHasToComeBack() {
    var answers = QuirkyAnswers([.controlQuery])
    func described(_ controls: [String]) -> String {
      zip(["v=0", "m=video 0 RTP/AVP 96", "m=audio 0 RTP/AVP 0"], controls)
        .map { "\($0)\r\na=control:\($1)\r\n" }.joined()
    }
    let answer = answers.change(
      RTSPText(
        lines: [
          "RTSP/1.0 200 OK", "Content-Base: rtsp://camera/a/", "Content-Type: application/sdp",
          "RTP-Info: url=rtsp://camera/a/1;seq=7,url=rtsp://camera/b?x=1;seq=8",
        ],
        body: Array(described(["*", "1", "rtsp://camera/b?x=1"]).utf8)))
    let query = "Axis-Orig-Sw=true"
    let expected = [
      "rtsp://camera/a?\(query)", "rtsp://camera/a/1?\(query)", "rtsp://camera/b?x=1&\(query)",
    ]
    #expect(answer?.text.body == Array(described(expected).utf8))
    #expect(
      answer?.text["RTP-Info"] == "url=\(expected[1]);seq=7,url=\(expected[2]);seq=8")
    // The server knows no query.
    var request = RTSPText(lines: ["SETUP \(expected[1]) RTSP/1.0", "CSeq: 2"], body: [])
    answers.restore(&request)
    #expect(request.url == "rtsp://camera/a/1")
    #expect(answers.refusal(of: request) == nil)
  }

  @Test func mediaOrAFrameGoesWithSomeAnswers() {
    #expect(Self.answers([.mediaBeforePlay])[4]?.company == .media)
    #expect(Self.answers([.strayFrames])[2]?.company == .frames(QuirkyAnswers.strayFrame))
    #expect(Self.answers([.oldSession])[2]?.company == .frames(QuirkyAnswers.oldFrames(on: 0)))
    var both = QuirkyAnswers.strayFrame
    both.writeImmutableBuffer(QuirkyAnswers.oldFrames(on: 0))
    #expect(Self.answers([.strayFrames, .oldSession])[2]?.company == .frames(both))
  }

  @Test func aSetUpWithoutDescriptionIsRefused() {
    let lines = Self.answers([.describeNeeded], describes: false)[2]?.text.lines
    #expect(lines?.first == "RTSP/1.0 455 Method Not Valid in This State")
    #expect(Self.answers([.describeNeeded])[2]?.text.lines.first == "RTSP/1.0 200 OK")
  }

  /// Two are set up.
  @Test(arguments: [(2, true), (3, false)])
  func mediaWaitForTheLastTrack(tracks: Int, arePlayed: Bool) {
    let lines = Self.answers([.everyTrackNeeded], tracks: tracks)[4]?.text.lines ?? []
    #expect(lines.first == "RTSP/1.0 200 OK")
    #expect(lines.contains { $0.hasPrefix("RTP-Info:") } == arePlayed)
    #expect(lines.contains { $0.hasPrefix("Session: A1") })
  }

  @Test func aSignOfLifeMayEndTheConnection() {
    var answers = QuirkyAnswers([.getParameterAlone])
    for method in ["OPTIONS", "SET_PARAMETER", "GET_PARAMETER"] {
      // Before there is a session, clients ask what they may ask.
      #expect(answers.refusal(of: Self.request(method, "CSeq: 1")) == nil)
      #expect(
        answers.refusal(of: Self.request(method, "CSeq: 2", "Session: A1"))
          == (method == "GET_PARAMETER" ? nil : .close))
    }
  }

  @Test func keepalivesAreNotAnswered() {
    let answers = Self.answers([.keepalivesUnanswered])
    #expect(answers[5] == nil && answers[0] != nil)
  }
}

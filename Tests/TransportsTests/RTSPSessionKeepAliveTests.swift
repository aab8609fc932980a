import NIOCore
import RTPWire
import Testing

@testable import Transports

struct RTSPSessionKeepAliveTests {
  private static let keepAlives: Set = ["GET_PARAMETER", "SET_PARAMETER", "OPTIONS"]

  /// The keep-alives of a conversation as `seconds method`.
  private func keepAlives(_ conversation: Conversation) -> [String] {
    zip(conversation.requests, conversation.times).dropFirst(4)
      .filter { Self.keepAlives.contains($0.0.method) }
      .map { "\($0.1 / 1000) \($0.0.method)" }
  }

  private func play(
    _ script: Conversation.Script = [:], session: String = "1;timeout=60",
    over lowerTransport: RTSPConfiguration.LowerTransport = .tcp, seconds: Int64
  ) throws -> Conversation {
    let dialogue: Conversation.Script = [
      "DESCRIBE": [.oneVideo],
      "SETUP": [.setUp("RTP/AVP/TCP;interleaved=0-1", session: session)],
    ]
    var conversation = try Conversation(
      dialogue.merging(script) { _, new in new }, over: lowerTransport)
    conversation.run(milliseconds: seconds * 1000)
    return conversation
  }

  @Test(
    arguments: [
      ("1;timeout=60", 100, [30, 60, 90]), ("1", 100, [30, 60, 90]),
      ("1;timeout=3600", 100, [30, 60, 90]),
      // FLIR's Siqura cameras expect something every 20 s, others every 5.
      ("1;timeout=20", 45, [10, 20, 30, 40]), ("1; timeout=4", 7, [2, 4, 6]),
      ("1;timeout=0", 65, [30, 60]), ("1;timeout=-5", 65, [30, 60]),
      ("1;timeout=99999999999999999999", 65, [30, 60]),
      ("1;timeout=9223372036854775807", 65, [30, 60]), ("1;timeout=", 65, [30, 60]),
    ]
  )
  func theyComeAtHalfTheTimeout(session: String, seconds: Int64, expected: [Int]) throws {
    let conversation = try play(session: session, seconds: seconds)
    #expect(keepAlives(conversation) == expected.map { "\($0) GET_PARAMETER" })
    #expect(conversation.end == nil)
  }

  @Test func aTimeoutOfASecondMakesNoFlood() throws {
    let conversation = try play(session: "1;timeout=1", seconds: 10)
    #expect(keepAlives(conversation).count <= 20)
  }

  @Test func theyGoToTheWholePresentationWithTheSession() throws {
    let conversation = try play(seconds: 40)
    let request = try #require(conversation.requests.last)
    #expect(request.method == "GET_PARAMETER")
    #expect(request.uri == "rtsp://camera/live")
    #expect(request.headers["Session"] == "1")
    #expect(request.headers["User-Agent"] == "rtp-recv")
  }

  @Test(
    arguments: [
      ("OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER", "GET_PARAMETER"),
      ("OPTIONS,DESCRIBE,SETUP,PLAY,SET_PARAMETER", "SET_PARAMETER"),
      ("OPTIONS, SET_PARAMETER, get_parameter", "GET_PARAMETER"),
      ("OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN", "OPTIONS"), ("DESCRIBE", "OPTIONS"),
      ("", "OPTIONS"), (" , ", "OPTIONS"),
    ]
  )
  func theMethodIsOneThatPublicLists(field: String, method: String) throws {
    let conversation = try play(["OPTIONS": [.ok.with("Public", field)]], seconds: 35)
    #expect(keepAlives(conversation) == ["30 \(method)"])
  }

  /// Some close the connection upon GET_PARAMETER, and do not say that they do not know it.
  @Test(arguments: [Reply.ok, .status(501)])
  func aServerThatListsNoMethodsIsAskedForItsOptions(answer: Reply) throws {
    let conversation = try play(
      ["OPTIONS": [answer, .ok], "GET_PARAMETER": [.close]], seconds: 100)
    #expect(keepAlives(conversation) == ["30 OPTIONS", "60 OPTIONS", "90 OPTIONS"])
    #expect(conversation.end == nil)
  }

  @Test func aServerThatListsNoMethodsAndRefusesItsOptionsGetsWhatTheStandardIntends() throws {
    let conversation = try play(["OPTIONS": [.status(501)]], seconds: 65)
    #expect(
      keepAlives(conversation) == ["30 OPTIONS", "30 GET_PARAMETER", "60 GET_PARAMETER"])
    #expect(conversation.end == nil)
  }

  // MARK: Servers that close the connection upon one

  @Test(
    arguments: [
      ([], "GET_PARAMETER"), (["GET_PARAMETER"], "SET_PARAMETER"),
      (["GET_PARAMETER", "SET_PARAMETER"], "OPTIONS"),
    ] as [(Set<String>, String)])
  func aServerThatHangsUpUponOneGetsAnotherOnTheNextConnection(
    earlier: Set<String>, method: String
  ) throws {
    var conversation = try Conversation(
      [
        "DESCRIBE": [.oneVideo], "SETUP": [.tcp], "OPTIONS": [.methods, .close],
        "GET_PARAMETER": [.close], "SET_PARAMETER": [.close],
      ]
    ) { $0.fatalKeepAlives = earlier }
    conversation.run(milliseconds: 100_000)
    #expect(keepAlives(conversation) == ["30 \(method)"])
    #expect(conversation.end == .failed(.brokenOff))
    #expect(conversation.reports == [.closedUponKeepAlive(method: method)])
  }

  @Test func aServerThatHangsUpUponEachOfThemGetsNone() throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]]) {
      $0.fatalKeepAlives = ["GET_PARAMETER", "SET_PARAMETER", "OPTIONS"]
    }
    conversation.run(milliseconds: 100_000)
    #expect(keepAlives(conversation).isEmpty)
    #expect(conversation.end == nil)
  }

  /// It has restarted, or has never answered any.
  @Test(arguments: [(Reply.ok, Int64(30_000)), (.silence, 32_001)])
  func aServerThatHangsUpAtAnotherTimeDoesNotDoSoBecauseOfOne(
    answer: Reply, milliseconds: Int64
  ) throws {
    var conversation = try play(["GET_PARAMETER": [answer]], seconds: 1)
    conversation.run(milliseconds: milliseconds - 1000)
    #expect(keepAlives(conversation).count == 1)
    conversation.session.connectionClosed(at: conversation.now)
    conversation.run()
    #expect(conversation.end == .failed(.brokenOff))
    #expect(conversation.reports.isEmpty)
  }

  // MARK: Servers that refuse them

  @Test func aRefusedMethodIsReplacedByTheNextAtOnce() throws {
    let conversation = try play(
      ["GET_PARAMETER": [.status(501)], "SET_PARAMETER": [.status(451)]], seconds: 65)
    #expect(
      keepAlives(conversation)
        == ["30 GET_PARAMETER", "30 SET_PARAMETER", "30 OPTIONS", "60 OPTIONS"])
    #expect(
      conversation.reports == [
        .keepAliveRefused(method: "GET_PARAMETER"), .keepAliveRefused(method: "SET_PARAMETER"),
      ])
    #expect(conversation.end == nil)
  }

  @Test func aServerThatRefusesAllOfThemIsPlayedOn() throws {
    let refusal = Reply.status(454, "Session Not Found")
    let conversation = try play(
      [
        "OPTIONS": [.methods, refusal], "GET_PARAMETER": [refusal], "SET_PARAMETER": [refusal],
      ], seconds: 600)
    #expect(conversation.end == nil)
    #expect(keepAlives(conversation).count == 22)
  }

  /// TP-Link's C520WS advertises SET_PARAMETER, and answers it with 400 and the CSeq before.
  @Test func aRefusalWithTheWrongCSeqIsARefusal() throws {
    let conversation = try play(
      [
        "OPTIONS": [.ok.with("Public", "OPTIONS, SET_PARAMETER")],
        "SET_PARAMETER": [.status(400, "Bad Request").sequence(.changed(by: -1))],
      ], seconds: 100)
    #expect(
      keepAlives(conversation) == ["30 SET_PARAMETER", "30 OPTIONS", "60 OPTIONS", "90 OPTIONS"])
    #expect(conversation.end == nil)
  }

  /// live555 takes a report in a POST for the beginning of the request that follows.
  @Test(
    arguments: [
      (Reply.status(405, "Method Not Allowed"), []),
      (Reply.status(400, "Bad Request").sequence(.left), [.wrongSequence]),
    ] as [(Reply, [RTSPDiagnostic])])
  func aRefusalInHTTPStopsTheReports(refusal: Reply, before: [RTSPDiagnostic]) throws {
    let conversation = try play(["GET_PARAMETER": [refusal, .ok]], over: .http, seconds: 65)
    #expect(
      keepAlives(conversation)
        == ["30 GET_PARAMETER", "30 GET_PARAMETER", "60 GET_PARAMETER"])
    #expect(conversation.session.feedbackChannel(ofTrack: 0) == nil)
    #expect(conversation.reports == before + [.feedbackMisread])
    #expect(conversation.end == nil)
  }

  @Test func aMethodThatIsRefusedInHTTPWithoutReportsTooIsReplaced() throws {
    let conversation = try play(["GET_PARAMETER": [.status(405)]], over: .http, seconds: 65)
    #expect(
      keepAlives(conversation)
        == ["30 GET_PARAMETER", "30 GET_PARAMETER", "30 SET_PARAMETER", "60 SET_PARAMETER"])
    let method = RTSPDiagnostic.keepAliveRefused(method: "GET_PARAMETER")
    #expect(conversation.reports == [method])
    // So the reports did no harm.
    #expect(conversation.session.feedbackChannel(ofTrack: 0) == 1)
  }

  @Test(
    "reports go on where they are not misread",
    arguments: [(405, .tcp), (501, .http), (454, .http)]
      as [(Int, RTSPConfiguration.LowerTransport)])
  func reportsGoOn(status: Int, over lowerTransport: RTSPConfiguration.LowerTransport) throws {
    let conversation = try play(
      ["GET_PARAMETER": [.status(status)]], over: lowerTransport, seconds: 35)
    #expect(keepAlives(conversation) == ["30 GET_PARAMETER", "30 SET_PARAMETER"])
    #expect(conversation.session.feedbackChannel(ofTrack: 0) == 1)
  }

  @Test func aServerThatNeverAnswersThemIsPlayedOn() throws {
    let conversation = try play(["GET_PARAMETER": [.silence]], seconds: 3600)
    #expect(conversation.end == nil)
    #expect(keepAlives(conversation).count == 120)
  }

  @Test func theOneAfterManyUnansweredOnesIsStillUnderstood() throws {
    var answers = [Reply](repeating: .silence, count: 50)
    answers.append(.status(501))
    let conversation = try play(["GET_PARAMETER": answers], seconds: 30 * 53)
    #expect(keepAlives(conversation).suffix(2) == ["1560 SET_PARAMETER", "1590 SET_PARAMETER"])
  }

  @Test func answersAreNotMedia() throws {
    var conversation = try play(session: "1;timeout=4", seconds: 10)
    conversation.stopPackets()
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.mediaStopped(seconds: 5)))
  }

  @Test func theyAreRefusedForAnOldNonceAndSentAgain() throws {
    let challenge = #"Digest realm="r", nonce="a", qop="auth""#
    let stale = #"Digest realm="r", nonce="b", qop="auth", stale=true"#
    var conversation = try Conversation(
      [
        "OPTIONS": [.challenge(challenge), .methods], "DESCRIBE": [.oneVideo], "SETUP": [.tcp],
        "GET_PARAMETER": [.challenge(stale), .ok],
      ], credentials: Credentials(user: "u", password: "p"))
    conversation.run(milliseconds: 70_000)
    let nonces = conversation.values(of: "Authorization", in: "GET_PARAMETER").map {
      AuthenticationChallenge.parse([$0]).first?.parameters["nonce"]
    }
    #expect(nonces == ["a", "b", "b"])
    #expect(conversation.reports.isEmpty)
    #expect(conversation.end == nil)
  }

  @Test func aServerThatRefusesTheirPasswordIsAskedNoMoreAndPlayedOn() throws {
    let challenge = #"Digest realm="r", nonce="a", qop="auth""#
    var conversation = try Conversation(
      [
        "OPTIONS": [.challenge(challenge), .methods], "DESCRIBE": [.oneVideo], "SETUP": [.tcp],
        "GET_PARAMETER": [.challenge(challenge)],
      ], credentials: Credentials(user: "u", password: "p"))
    conversation.run(milliseconds: 600_000)
    #expect(conversation.count(of: "GET_PARAMETER") == 2)
    #expect(conversation.reports == [.keepAliveRefused(method: "GET_PARAMETER")])
    #expect(conversation.end == nil)
  }
}

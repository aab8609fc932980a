import NIOCore
import RTPWire
import Testing

@testable import Transports

struct RTSPSessionAuthenticationTests {
  private static let credentials = Credentials(user: "admin", password: "hunter2")
  private static let digest = #"Digest realm="Camera", nonce="a", qop="auth""#
  private static let basic = #"Basic realm="Camera""#

  private func run(
    _ script: Conversation.Script, url: String = "rtsp://camera/live",
    credentials: Credentials? = credentials
  ) throws -> Conversation {
    let dialogue: Conversation.Script = ["DESCRIBE": [.oneVideo], "SETUP": [.tcp]]
    var conversation = try Conversation(
      dialogue.merging(script) { _, new in new }, url: url, credentials: credentials)
    conversation.run()
    return conversation
  }

  @Test func everyRequestAfterTheChallengeIsAuthorized() throws {
    let conversation = try run(["OPTIONS": [.challenge(Self.digest, Self.basic), .ok]])
    let fields = conversation.requests.map { request -> [String: String] in
      AuthenticationChallenge.parse(request.headers.all("Authorization")).first?.parameters ?? [:]
    }
    #expect(conversation.methods == ["OPTIONS", "OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
    #expect(
      fields.map { $0["nc"] } == [nil, "00000001", "00000002", "00000003", "00000004"])
    #expect(fields.dropFirst().map { $0["uri"] } == conversation.requests.dropFirst().map(\.uri))
    #expect(conversation.reports.isEmpty)
  }

  @Test func aServerThatClosesTheConnectionAfterTheChallengeIsConnectedToAgain() throws {
    let conversation = try run([
      "DESCRIBE": [.challenge(Self.digest).closing(), .oneVideo]
    ])
    #expect(conversation.transcript.count { $0.hasPrefix("connect") } == 2)
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.reports == [.reconnected])
  }

  /// Cameras lock accounts: what was tried on one connection counts on the next.
  @Test(arguments: ["OPTIONS", "DESCRIBE"])
  func aServerThatClosesTheConnectionAfterEachRefusalGetsThePasswordTwice(method: String) throws {
    let refusal = Reply.challenge(Self.digest).closing()
    var script: Conversation.Script = ["DESCRIBE": [refusal]]
    script[method] = [refusal]
    let conversation = try run(script)
    #expect(conversation.end == .failed(.credentialsRefused(realm: "Camera")))
    #expect(conversation.requests.count { $0.headers["Authorization"] != nil } == 2)
  }

  @Test func aServerThatClosesTheConnectionInsteadOfARefusalGetsThePasswordTwice() throws {
    let conversation = try run(["DESCRIBE": [.challenge(Self.digest).closing(), .ok, .close]])
    #expect(conversation.requests.count { $0.headers["Authorization"] != nil } <= 2)
  }

  @Test func basicWithoutEncryptionIsReported() throws {
    let plain = try run(["DESCRIBE": [.challenge(Self.basic), .oneVideo]])
    #expect(plain.transcript.last == "playing")
    #expect(plain.reports == [.basicWithoutEncryption])
    let secure = try run(
      ["DESCRIBE": [.challenge(Self.basic), .oneVideo]], url: "rtsps://camera/live")
    #expect(secure.transcript.last == "playing")
    #expect(secure.reports.isEmpty)
  }

  @Test(
    arguments: [
      // The same challenge forever, another nonce each time, an old nonce forever, no challenge.
      ([#"Digest realm="Camera", nonce="a""#], RTSPError.credentialsRefused(realm: "Camera"), 1),
      ([basic], .credentialsRefused(realm: "Camera"), 1),
      (
        [#"Digest realm="Camera", nonce="a", stale=true"#], .credentialsRefused(realm: "Camera"), 2
      ),
      (
        [#"Digest realm="Camera", nonce="a", algorithm=SHA-256"#, digest],
        .credentialsRefused(realm: "Camera"), 2
      ),
      ([], .authenticationUnsupported(schemes: []), 0),
      (["Bearer"], .authenticationUnsupported(schemes: ["Bearer"]), 0),
    ]
  )
  func aServerThatRefusesForEverIsGivenUp(
    challenges: [String], error: RTSPError, authorized: Int
  ) throws {
    var reply = Reply.status(401, "Unauthorized")
    reply.fields = challenges.map { ("WWW-Authenticate", $0) }
    let conversation = try run(["DESCRIBE": [reply]])
    #expect(conversation.end == .failed(error))
    #expect(
      conversation.requests.count { $0.headers["Authorization"] != nil } == authorized)
  }

  @Test func withoutCredentialsTheyAreAskedFor() throws {
    let conversation = try run(["DESCRIBE": [.challenge(Self.digest)]], credentials: nil)
    #expect(conversation.end == .failed(.credentialsMissing(realm: "Camera")))
    #expect(conversation.count(of: "DESCRIBE") == 1)
  }

  @Test func basicAfterDigestIsNotAnswered() throws {
    let conversation = try run([
      "DESCRIBE": [.challenge(Self.digest), .oneVideo], "SETUP": [.challenge(Self.basic)],
    ])
    #expect(conversation.end == .failed(.authenticationUnsupported(schemes: ["Basic"])))
    #expect(
      conversation.requests.allSatisfy { !($0.headers["Authorization"] ?? "").hasPrefix("Basic") })
  }

  @Test func aTeardownThatIsChallengedStaysWithinItsSecond() throws {
    var conversation = try run([
      "DESCRIBE": [.challenge(Self.digest), .oneVideo], "TEARDOWN": [.silence],
    ])
    let start = conversation.milliseconds
    conversation.session.teardown(at: conversation.now)
    conversation.run(milliseconds: 600)
    let challenge = Reply.challenge(#"Digest realm="Camera", nonce="b", stale=true"#)
    let request = try #require(conversation.requests.last)
    conversation.session.receive(challenge.response(to: request), at: conversation.now)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.count(of: "TEARDOWN") == 2)
    #expect(conversation.end == .finished)
    #expect(conversation.milliseconds - start == 1000)
  }

  @Test func thePasswordIsInNothingThatIsPrinted() throws {
    for challenge in [Self.digest, Self.basic] {
      let conversation = try run(["DESCRIBE": [.challenge(challenge)]])
      let printed = "\(conversation.end as Any) \(conversation.reports) \(conversation.transcript)"
      #expect(!printed.contains("hunter2"))
      #expect(!printed.contains("aHVudGVyMg"))
    }
  }

  /// Faulty servers, and proxies that show what they were asked.
  @Test(
    arguments: [
      "Bad Authorization: Basic YWRtaW46aHVudGVyMg==", "YWRtaW46aHVudGVyMg", "No hunter2\u{301}",
      "DESCRIBE rtsp://camera/live?token=c%40t&x=1 RTSP/1.0", "c%40t is old", "c@t is old",
      "SETUP rtsp://camera/track1?password=other",
    ], [404, 500])
  func aReasonThatRepeatsASecretIsLeftOut(reason: String, status: Int) throws {
    let conversation = try run(
      ["DESCRIBE": [.challenge(Self.basic), .status(status, reason)]],
      url: "rtsp://camera/live?token=c%40t&x=1")
    #expect(
      conversation.end == .failed(.refused(method: "DESCRIBE", status: status, reason: "")))
  }

  @Test func anotherReasonStays() throws {
    let reason = "No stream at rtsp://camera/live?x=1 for admin"
    let conversation = try run(
      ["DESCRIBE": [.challenge(Self.basic), .status(404, reason)]],
      url: "rtsp://camera/live?token=c%40t&x=1")
    #expect(
      conversation.end == .failed(.refused(method: "DESCRIBE", status: 404, reason: reason)))
  }
}

import NIOCore
import RTPWire
import Testing

@testable import RTPSend

@Suite struct RTSPLoginTests {
  let target = "rtsp://192.0.2.1:8554/live"

  func conversation(_ methods: Set<RTSPLogin.Method>) -> Conversation {
    Conversation { $0.login = RTSPLogin(accounts: ["viewer": "canary"], methods: methods) }
  }

  /// What a client answers to a challenge (RFC 2617 §3.2.2, without a quality of protection).
  func digest(
    _ nonce: String, _ method: String, _ uri: String, password: String = "canary",
    user: String = "viewer", algorithm: String? = nil
  ) -> String {
    let hash = { RTSPGate.hash($0, algorithm == "SHA-256" ? "SHA256" : "MD5") }
    let response = hash(
      hash("\(user):rtp-send:\(password)") + ":\(nonce):" + hash("\(method):\(uri)"))
    return #"Authorization: Digest username="\#(user)", realm="rtp-send", nonce="\#(nonce)", "#
      + #"uri="\#(uri)", response="\#(response)""# + (algorithm.map { ", algorithm=\($0)" } ?? "")
  }

  func nonce(_ response: String) -> String {
    response.firstMatch(of: #/nonce="([0-9a-f]+)"/#).map { String($0.1) } ?? ""
  }

  @Test(
    arguments: [
      ([.digest], [#"Digest realm="rtp-send", nonce="N", algorithm=MD5"#]),
      (
        [.digest, .basic],
        [
          #"Digest realm="rtp-send", nonce="N", algorithm=MD5"#, #"Basic realm="rtp-send""#,
        ]
      ),
      // FFmpeg takes the last Digest header, and knows MD5 alone.
      (
        [.digest, .sha256],
        [
          #"Digest realm="rtp-send", nonce="N", algorithm=SHA-256"#,
          #"Digest realm="rtp-send", nonce="N", algorithm=MD5"#,
        ]
      ),
    ] as [(Set<RTSPLogin.Method>, [String])])
  func challengesAreInTheOrderThatClientsRead(methods: Set<RTSPLogin.Method>, headers: [String]) {
    var conversation = conversation(methods)
    let response = conversation.ask("DESCRIBE", target)
    #expect(Conversation.status(response) == 401)
    let found = response.split(separator: "\r\n").filter { $0.hasPrefix("WWW-Authenticate: ") }
      .map { String($0.dropFirst(18)).replacing(nonce(response), with: "N") }
    #expect(found == headers)
  }

  @Test(arguments: [
    ("DESCRIBE", "", "rtsp://192.0.2.1:8554/live"), ("DESCRIBE", "", "/live"),
    ("DESCRIBE", "", "rtsp://192.0.2.1:8554/live/"),
    ("SETUP", "/trackID=1", "rtsp://192.0.2.1:8554/live/"),
    ("SETUP", "/trackID=1", "rtsp://192.0.2.1:8554/live"),
    ("SETUP", "/trackID=1", "rtsp://192.0.2.1:8554/live/trackID=1"),
  ])
  func clientsNameTheURLInManyWays(method: String, track: String, uri: String) {
    var conversation = conversation([.digest])
    let nonce = nonce(conversation.ask(method, target + track))
    let response = conversation.ask(
      method, target + track, [digest(nonce, method, uri), "Transport: RTP/AVP/TCP"])
    #expect(Conversation.status(response) == 200)
    // The same answer is no good for another URL.
    let other = conversation.ask(method, "rtsp://h/films/one%20film", [digest(nonce, method, uri)])
    #expect(Conversation.status(other) == 401)
  }

  @Test func aHashThatWasNotAskedForIsRefused() {
    var conversation = conversation([.sha256])
    let nonce = nonce(conversation.ask("DESCRIBE", target))
    let md5 = conversation.ask("DESCRIBE", target, [digest(nonce, "DESCRIBE", target)])
    #expect(Conversation.status(md5) == 401)
    let sha = conversation.ask(
      "DESCRIBE", target, [digest(nonce, "DESCRIBE", target, algorithm: "SHA-256")])
    #expect(Conversation.status(sha) == 200)
  }

  @Test(arguments: [
    ("viewer:canary", 200), ("viewer:wrong", 401), ("other:canary", 401), ("", 401),
  ])
  func basicIsThePasswordItself(login: String, status: Int) {
    var conversation = conversation([.basic])
    let text = SessionDescription.base64(ByteBuffer(string: login))
    let response = conversation.ask("DESCRIBE", target, ["Authorization: Basic \(text)"])
    #expect(Conversation.status(response) == status)
  }

  @Test(arguments: [
    #"Digest username="viewer", realm="rtp-send", nonce="", uri="/live", response="""#,
    #"Digest username="viewer", realm="rtp-send", nonce="", uri="/live", response="", algorithm=X"#,
    "Digest", "Digest =", "Digest a=\"", "Bearer x", "",
  ])
  func whatIsNoAnswerIsRefused(header: String) {
    var conversation = conversation([.digest, .sha256, .basic])
    for _ in 0..<2 {
      let response = conversation.ask("DESCRIBE", target, ["Authorization: \(header)"])
      #expect(Conversation.status(response) == 401)
    }
  }

  @Test func oldChallengesAreStaleAndNotWrong() {
    var conversation = conversation([.digest])
    let first = nonce(conversation.ask("DESCRIBE", target))
    for _ in 0..<20 {
      conversation.wait(seconds: 31)
      conversation.ask("OPTIONS", "*")
    }
    let response = conversation.ask("DESCRIBE", target, [digest(first, "DESCRIBE", target)])
    #expect(response.contains(", stale=true, algorithm=MD5"))
    let second = nonce(response)
    #expect(second != first)
    let admitted = conversation.ask("DESCRIBE", target, [digest(second, "DESCRIBE", target)])
    #expect(Conversation.status(admitted) == 200)
  }

  @Test func guessingEnds() {
    var conversation = conversation([.digest])
    let nonce = nonce(conversation.ask("DESCRIBE", target))
    for _ in 0..<20 {
      conversation.ask("DESCRIBE", target, [digest(nonce, "DESCRIBE", target, password: "guess")])
    }
    #expect(conversation.done == ["close"])
    #expect(conversation.responses.count == 1 + RTSPGate.mostFailures)
  }

  @Test func nothingIsSetUpWithoutALogin() {
    var conversation = conversation([.digest])
    #expect(conversation.setUp(target + "/trackID=1").isEmpty)
    #expect(Conversation.status(conversation.ask("OPTIONS", "*")) == 200)
    #expect(Conversation.status(conversation.ask("PLAY", target)) == 454)
  }

  @Test(arguments: [
    ("a:b\n# note\n\nc:d:e\r\n", ["a": "b", "c": "d:e"]), ("a:", ["a": ""]),
  ])
  func accountsAreRead(text: String, accounts: [String: String]) throws {
    #expect(try RTSPLogin.accounts(in: text) == accounts)
  }

  @Test(arguments: [("", 0), ("a", 1), ("a:b\n:c", 2), ("a:\u{7}", 1), ("#", 0)])
  func otherLinesAreNamed(text: String, line: Int) {
    #expect(throws: RTSPLogin.AccountFault(line: line)) { try RTSPLogin.accounts(in: text) }
  }
}

import Foundation
import NIOCore
import RTPWire
import Testing

@testable import Transports

struct RTSPSessionRedirectTests {
  private static let credentials = Credentials(user: "admin", password: "hunter2")
  private static let digest = #"Digest realm="r", nonce="a", qop="auth""#

  @Test(arguments: [301, 302, 303, 305, 307])
  func aRedirectIsFollowed(status: Int) throws {
    var conversation = try Conversation([
      "DESCRIBE": [.redirect("rtsp://other:8554/x", status: status), .oneVideo], "SETUP": [.tcp],
    ])
    conversation.run()
    #expect(
      conversation.transcript == [
        "connect rtsp://camera/live", "OPTIONS rtsp://camera/live", "DESCRIBE rtsp://camera/live",
        "connect rtsp://other:8554/x", "OPTIONS rtsp://other:8554/x",
        "DESCRIBE rtsp://other:8554/x", "describe 0", "SETUP rtsp://other:8554/x/track1",
        "PLAY rtsp://other:8554/x", "playing",
      ])
    #expect(conversation.reports == [.redirected(to: "rtsp://other:8554/x")])
  }

  @Test(
    arguments: [
      ("rtsp://camera/live", "http://169.254.169.254/latest"), ("rtsp://camera/live", "file:///x"),
      ("rtsp://camera/live", "gopher://other/"), ("rtsp://camera/live", "//other/x"),
      ("rtsp://camera/live", ""), ("rtsp://camera/live", "rtsp://"),
      ("rtsp://camera/live", "rtsp://other:99999/"),
      ("rtsps://camera/live", "rtsp://camera/live"), ("rtsps://camera/live", "rtsp://other/live"),
      ("rtsp://camera/live", "rtsp://127.0.0.1/x"), ("rtsp://camera/live", "rtsp://localhost/x"),
      ("rtsp://camera/live", "rtsp://LOCALHOST/x"), ("rtsp://camera/live", "rtsp://a.localhost/x"),
      ("rtsp://camera/live", "rtsp://169.254.169.254/x"), ("rtsp://camera/live", "rtsp://0.0.0.0/"),
      ("rtsp://camera/live", "rtsp://[::1]/x"), ("rtsp://camera/live", "rtsp://[::]/x"),
      ("rtsp://camera/live", "rtsp://[fe80::1]/x"), ("rtsp://camera/live", "rtsp://239.1.2.3/x"),
      ("rtsp://camera/live", "rtsp://[::ffff:127.0.0.1]/x"),
      ("rtsp://camera/live", "rtsp://127.1/x"), ("rtsp://camera/live", "rtsp://2130706433/x"),
      ("rtsp://camera/live", "rtsp://0x7f000001/x"),
      ("rtsp://camera/live", "rtsp://localhost./x"),
      ("rtsp://camera/live", "rtsp://A.Localhost./x"),
    ]
  )
  func aRedirectToWhereNobodyIsSentIsNotFollowed(from: String, to: String) throws {
    var conversation = try Conversation(["DESCRIBE": [.redirect(to)]], url: from)
    conversation.run()
    #expect(conversation.end == .failed(.redirectRefused(to: to)))
    #expect(conversation.transcript.count { $0.hasPrefix("connect") } == 1)
  }

  @Test(
    "a redirect by a name that stands for an address of this machine", arguments: [true, false])
  func aNameThatLeadsInside(beganInside: Bool) throws {
    var conversation = try Conversation([
      "DESCRIBE": [.redirect("rtsp://other/x"), .oneVideo], "SETUP": [.tcp],
    ])
    conversation.insideHosts = beganInside ? ["camera", "other"] : ["other"]
    conversation.run()
    guard !beganInside else {
      #expect(conversation.transcript.last == "playing")
      return
    }
    #expect(conversation.end == .failed(.redirectRefused(to: "rtsp://other/x")))
    #expect(conversation.transcript.suffix(2) == ["connect rtsp://other/x", "end"])
  }

  @Test(
    arguments: [
      ("rtsp://camera/live", "rtsps://camera/live"), ("rtsps://camera/live", "rtsps://other/live"),
      ("rtsp://127.0.0.1:8554/a", "rtsp://127.0.0.1:8555/a"),
      ("rtsp://localhost/a", "rtsp://127.0.0.1/a"), ("rtsp://[fe80::1]/a", "rtsp://[fe80::1]/b"),
      ("rtsp://camera/live", "rtsp://192.168.1.2/live"), ("rtsp://camera/live", "/elsewhere"),
    ]
  )
  func aRedirectToAsSafeAPlaceIsFollowed(from: String, to: String) throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.redirect(to), .oneVideo], "SETUP": [.tcp]], url: from)
    conversation.run()
    #expect(conversation.transcript.last == "playing")
  }

  @Test(arguments: [
    ("rtsp://h/a", "rtsp://h/new"), ("rtsps://h:8322/a?b", "rtsps://h:8322/new"),
    ("rtsp://[fe80::1%25eth0]/a", "rtsp://[fe80::1%25eth0]/new"),
  ])
  func aRedirectToAPathStaysAtTheServer(from: String, to: String) throws {
    let url = try ServerURL(parsing: from)
    var redirections = Redirections(from: url)
    let target = try redirections.follow("/new", from: url)
    #expect(try target == ServerURL(parsing: to))
  }

  @Test func aServerThatRedirectsToItselfIsLeft() throws {
    var conversation = try Conversation(["DESCRIBE": [.redirect("rtsp://camera/live")]])
    conversation.run()
    #expect(conversation.end == .failed(.redirectedTooOften(limit: 3)))
  }

  @Test func aServerThatRedirectsToItsOwnPathIsLeft() throws {
    var conversation = try Conversation(["DESCRIBE": [.redirect("/live")]])
    conversation.run()
    #expect(conversation.end == .failed(.redirectedTooOften(limit: 3)))
    #expect(conversation.transcript.count { $0.hasPrefix("connect") } == 1)
  }

  @Test func serversThatRedirectToEachOtherAreLeft() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.redirect("rtsp://other/live"), .redirect("rtsp://camera/live")]
    ])
    conversation.run()
    #expect(conversation.end == .failed(.redirectedTooOften(limit: 3)))
    #expect(conversation.transcript.count { $0.hasPrefix("connect") } == 2)
  }

  @Test func aChainOfAThousandRedirectsIsFollowedThreeTimes() throws {
    var conversation = try Conversation([
      "DESCRIBE": (0..<1000).map { .redirect("rtsp://h\($0)/live") }
    ])
    conversation.run()
    #expect(conversation.end == .failed(.redirectedTooOften(limit: 3)))
    #expect(conversation.transcript.count { $0.hasPrefix("connect") } == 4)
  }

  @Test(
    arguments: [
      "rtsp://other/live", "rtsp://camera:8554/live", "rtsps://camera/live",
      "rtsp://admin:hunter2@other/live",
    ]
  )
  func anotherServerGetsNoCredentials(target: String) throws {
    var conversation = try Conversation(
      [
        "DESCRIBE": [
          .challenge(Self.digest), .redirect(target), .challenge(Self.digest, "Basic realm=r"),
        ]
      ], credentials: Self.credentials)
    conversation.run()
    guard case .failed(.credentialsNotForwarded) = conversation.end else {
      Issue.record("ended with \(conversation.end as Any)")
      return
    }
    let authorized = conversation.requests.filter { $0.headers["Authorization"] != nil }
    #expect(authorized.map(\.uri) == ["rtsp://camera/live"])
  }

  @Test func theSameServerKeepsTheCredentials() throws {
    var conversation = try Conversation(
      [
        "DESCRIBE": [.challenge(Self.digest), .redirect("rtsp://CAMERA:554/hd"), .oneVideo],
        "SETUP": [.tcp],
      ], credentials: Self.credentials)
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.requests.last?.headers["Authorization"] != nil)
  }

  @Test(
    arguments: [
      ("rtsp://camera/hd", ["OPTIONS", "DESCRIBE", "DESCRIBE", "SETUP", "PLAY", "SET_PARAMETER"]),
      (
        "rtsp://other/hd",
        ["OPTIONS", "DESCRIBE", "OPTIONS", "DESCRIBE", "SETUP", "PLAY", "GET_PARAMETER"]
      ),
    ]
  )
  func onlyAnotherServerIsAskedWhatItKnows(target: String, methods: [String]) throws {
    var conversation = try Conversation([
      "OPTIONS": [.ok.with("Public", "SET_PARAMETER"), .ok.with("Public", "GET_PARAMETER")],
      "DESCRIBE": [.redirect(target), .oneVideo], "SETUP": [.tcp],
    ])
    conversation.run(milliseconds: 35_000)
    #expect(conversation.methods == methods)
    let numbers = conversation.requests.compactMap { $0.headers["CSeq"] }
    #expect(numbers == (1...methods.count).map(String.init))
  }

  @Test(arguments: ["camera", "spare"])
  func theIdentifierStaysWithTheConnectionThatIsLeft(host: String) throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]])
    conversation.run(milliseconds: 20_000)
    conversation.session.receive(Self.redirection(to: host), at: conversation.now)
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.values(of: "Session", in: "TEARDOWN") == ["1"])
    #expect(conversation.values(of: "Session", in: "DESCRIBE") == ["-", "-"])
    #expect(conversation.values(of: "Session", in: "SETUP") == ["-", "-"])
    #expect(conversation.values(of: "Session", in: "PLAY") == ["1", "1"])
  }

  @Test func aServerThatSendsItsClientAwayInTheMiddleIsObeyed() throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]])
    conversation.run()
    conversation.session.receive(Self.redirection(to: "spare"), at: conversation.now)
    conversation.run()
    #expect(
      conversation.transcript.dropFirst(7).prefix(4) == [
        "200", "TEARDOWN rtsp://camera/live", "connect rtsp://spare/live",
        "OPTIONS rtsp://spare/live",
      ])
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.end == nil)
  }

  /// Servers that share their clients among them, for as long as the stream goes on.
  @Test func whoeverIsSentToAndFroForDaysGoesOn() throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]])
    for target in ["spare", "camera", "camera", "spare", "third", "spare"] {
      conversation.run(milliseconds: 3_600_000)
      conversation.session.receive(Self.redirection(to: target), at: conversation.now)
    }
    conversation.run()
    #expect(conversation.end == nil)
    #expect(conversation.transcript.last == "playing")
  }

  @Test func serversThatSendTheirClientsRoundWhenTheyPlayAreLeft() throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]])
    for target in ["spare", "camera"] {
      conversation.run()
      conversation.session.receive(Self.redirection(to: target), at: conversation.now)
    }
    conversation.run()
    #expect(conversation.end == .failed(.redirectedTooOften(limit: 3)))
  }

  @Test func whoHasSaidGoodbyeIsNotSentElsewhere() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.tcp], "TEARDOWN": [.silence],
    ])
    conversation.run()
    conversation.session.teardown(at: conversation.now)
    conversation.run(milliseconds: 100)
    conversation.session.receive(Self.redirection(to: "spare"), at: conversation.now)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .finished)
    #expect(conversation.transcript.count { $0.hasPrefix("connect") } == 1)
  }

  /// The shell knows the tracks of the first description: the next connection begins anew.
  @Test func aServerWithOtherStreamsIsNoneOfThisSession() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.audioAndVideo, .oneVideo], "SETUP": [.tcp],
    ])
    conversation.run()
    conversation.session.receive(Self.redirection(to: "spare"), at: conversation.now)
    conversation.run()
    #expect(conversation.end == .failed(.otherStreams))
  }

  /// Each description has its own copy of the key, which may be the same one.
  @Test(arguments: [0, 1] as [UInt8])
  func protectedStreamsAreTheSameWithTheSameKeys(change: UInt8) throws {
    func described(_ byte: UInt8) -> Reply {
      let key = Data([UInt8](repeating: 7, count: 29) + [byte]).base64EncodedString()
      return .description(
        "m=video 0 RTP/SAVP 96", "a=rtpmap:96 H264/90000", "a=control:track1",
        "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(key)")
    }
    var conversation = try Conversation([
      "DESCRIBE": [described(0), described(change)], "SETUP": [.tcp],
    ])
    conversation.run()
    conversation.session.receive(Self.redirection(to: "spare"), at: conversation.now)
    conversation.run()
    #expect((conversation.end == .failed(.otherStreams)) == (change != 0))
    #expect(conversation.transcript.count { $0 == "playing" } == (change == 0 ? 2 : 1))
  }

  private static func redirection(to host: String) -> RTSPRequest {
    var request = RTSPRequest(method: "REDIRECT", uri: "rtsp://camera/live")
    request.headers.add("CSeq", "1")
    request.headers.add("Location", "rtsp://\(host)/live")
    return request
  }

  @Test func aRedirectWithoutAnAddressIsARefusal() throws {
    var conversation = try Conversation(["DESCRIBE": [.status(302, "Found")]])
    conversation.run()
    #expect(
      conversation.end
        == .failed(.refused(method: "DESCRIBE", status: 302, reason: "Found")))
  }
}

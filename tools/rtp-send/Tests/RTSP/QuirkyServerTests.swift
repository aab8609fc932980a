import Impairment
import NIOCore
import Testing

@testable import RTPSend

/// The RTSP server with the quirks of others.
@Suite struct QuirkyServerTests {
  /// What is answered and done in a session, which may do without DESCRIBE.
  private static func session(_ quirks: Set<Quirk>, describes: Bool) -> [String] {
    var conversation = Conversation { $0.quirks = quirks }
    let url = "rtsp://192.0.2.1:8554/live"
    conversation.ask("OPTIONS", url)
    if describes { conversation.ask("DESCRIBE", url, ["Accept: application/sdp"]) }
    let first = conversation.setUp(url + "/trackID=1")
    let answer = conversation.ask(
      "SETUP", url + "/trackID=2",
      ["Transport: RTP/AVP/TCP;unicast;interleaved=2-3", "Session: \(first)"])
    let last = Conversation.header("Session", in: answer)?.prefix { $0 != ";" } ?? first[...]
    for method in ["PLAY", "GET_PARAMETER", "PAUSE", "TEARDOWN"] {
      conversation.ask(method, url, ["Session: \(last)"])
    }
    return conversation.responses + conversation.done
  }

  /// For those that show in other sessions, see below.
  @Test(
    arguments: Quirk.allCases.filter {
      $0.place == .session
        && ![
          .mediaBeforePlay, .everyTrackNeeded, .getParameterAlone, .noNumberBelowOne,
          .baseWithoutBrackets, .punchRefused,
        ].contains($0)
    })
  func everyQuirkShows(quirk: Quirk) {
    let isShown =
      Self.session([quirk], describes: true) != Self.session([], describes: true)
      || Self.session([quirk], describes: false) != Self.session([], describes: false)
    #expect(isShown)
  }

  /// Whatever it answers, it does what it is asked.
  @Test(
    arguments: Quirk.allCases.filter {
      $0.place == .session
        && ![.rangeNeeded, .agentNeeded, .pauseFails, .controlQuery].contains($0)
    })
  func theSessionIsPlayed(quirk: Quirk) {
    let done = Self.session([quirk], describes: true)
    for action in ["play", "start", "pause", "end tornDown"] {
      #expect(done.contains(action), "\(action)")
    }
  }

  @Test func aTrackIsSetUpByItsQuery() {
    var conversation = Conversation { $0.quirks = [.controlQuery] }
    let url = "rtsp://192.0.2.1:8554/live"
    conversation.description =
      "v=0\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\na=control:trackID=1\r\n"
    let described = conversation.ask("DESCRIBE", url, ["Accept: application/sdp"])
    #expect(described.contains("a=control:\(url)?Axis-Orig-Sw=true\r\n"))
    let track = "\(url)/trackID=1?Axis-Orig-Sw=true"
    #expect(described.contains("a=control:\(track)\r\n"))
    let session = conversation.setUp(track)
    let played = conversation.ask("PLAY", "\(url)?Axis-Orig-Sw=true", ["Session: \(session)"])
    #expect(conversation.done.contains("start"), "\(conversation.done)")
    #expect(played.contains("url=\(track);"), "\(played)")
  }

  @Test func aBaseByIPv6LosesItsBrackets() {
    var conversation = Conversation { $0.quirks = [.baseWithoutBrackets] }
    let answer = conversation.ask(
      "DESCRIBE", "rtsp://[fe80::1]:8554/live", ["Accept: application/sdp"])
    #expect(Conversation.header("Content-Base", in: answer) == "rtsp://fe80::1:8554/live/")
  }

  @Test(arguments: [(0, nil), (1, "1")] as [(Int, String?)])
  func aNumberBelowOneIsNotCopied(number: Int, copy: String?) {
    var conversation = Conversation { $0.quirks = [.noNumberBelowOne] }
    let answer = conversation.send("OPTIONS * RTSP/1.0\r\nCSeq: \(number)\r\n\r\n")
    #expect(Conversation.status(answer) == 200)
    #expect(Conversation.header("CSeq", in: answer) == copy)
  }

  @Test func mediaGoesOnTheChannelsThatAreSaid() {
    let done = Self.session([.otherChannels], describes: true)
    #expect(done.contains { $0.contains("Transport: RTP/AVP/TCP;unicast;interleaved=10-11;") })
    let carrier = Carrier.interleaved(TransportOffer.ChannelPair(rtp: 12, rtcp: 13))
    #expect(done.contains("set up 0/1 \(carrier)"), "\(done)")
  }

  @Test(arguments: ["OPTIONS", "SET_PARAMETER", "GET_PARAMETER"])
  func aSignOfLifeMayEndTheConnection(method: String) {
    var conversation = Conversation { $0.quirks = [.getParameterAlone] }
    let url = "rtsp://192.0.2.1:8554/live"
    let session = conversation.setUp(url + "/trackID=1")
    conversation.ask(method, url, ["Session: \(session)"])
    #expect(conversation.session.isClosed == (method != "GET_PARAMETER"))
  }

  @Test(arguments: [1, 2])
  func nothingIsPlayedUntilEveryTrackIsSetUp(tracks: Int) {
    var conversation = Conversation { $0.quirks = [.everyTrackNeeded] }
    let url = "rtsp://192.0.2.1:8554/live"
    conversation.description = "v=0\r\nm=video 0 RTP/AVP 96\r\nm=audio 0 RTP/AVP 97\r\n"
    conversation.ask("DESCRIBE", url, ["Accept: application/sdp"])
    let session = conversation.setUp(url + "/trackID=1")
    if tracks == 2 {
      conversation.ask(
        "SETUP", url + "/trackID=2",
        ["Transport: RTP/AVP/TCP;unicast;interleaved=2-3", "Session: \(session)"])
    }
    conversation.ask("PLAY", url, ["Session: \(session)"])
    #expect(conversation.done.contains("play") == (tracks == 2), "\(conversation.done)")
  }

  @Test func mediaStartsBeforeTheAnswerToPlay() {
    var conversation = Conversation { $0.quirks = [.mediaBeforePlay] }
    let url = "rtsp://192.0.2.1:8554/live"
    let session = conversation.setUp(url + "/trackID=1")
    var order: [String] = []
    conversation.session.receive(
      ByteBuffer(string: "PLAY \(url) RTSP/1.0\r\nCSeq: 9\r\nSession: \(session)\r\n\r\n"),
      at: conversation.now)
    while let action = conversation.session.next(at: conversation.now) {
      switch action {
      case .play: conversation.session.played(conversation.beginning, at: conversation.now)
      case .start: order.append("start")
      case .send: order.append("answer")
      default: break
      }
    }
    #expect(order == ["start", "answer"])
  }
}

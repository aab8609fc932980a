import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

/// What real clients depend on, as requests and responses.
@Suite struct RTSPServerSessionTests {
  let live = "rtsp://192.0.2.1:8554/live"
  let film = "rtsp://192.0.2.1:8554/films/one%20film"

  @Test(
    arguments: [
      ("rtsp://h/live", "rtsp://h/live/"), ("rtsp://h/live/", "rtsp://h/live/"),
      ("rtsp://user:secret@h:9/live", "rtsp://h:9/live/"),
      ("rtsp://h/live?x=1", "rtsp://h/live?x=1/"),
      ("/live", "rtsp://192.0.2.1:8554/live/"), ("rtsp://[fe80::1%25eth0]:8554/live", nil),
    ] as [(String, String?)])
  func descriptionsHaveABaseWithASlash(target: String, base: String?) {
    var conversation = Conversation()
    let response = conversation.ask("DESCRIBE", target, ["Accept: application/sdp"])
    #expect(Conversation.status(response) == 200)
    #expect(Conversation.header("Content-Base", in: response) == base ?? target + "/")
    #expect(Conversation.header("Content-Type", in: response) == "application/sdp")
    #expect(response.hasSuffix("\r\n\r\nv=0\r\n"))
  }

  @Test(arguments: [
    "live/trackID=2", "live/trackID=2/", "live/trackID=2?token=1", "live?token=1/trackID=2",
    "/live/trackID=2",
  ])
  func tracksAreNamedInEveryWay(path: String) {
    var conversation = Conversation()
    _ = conversation.setUp("rtsp://192.0.2.1:8554/" + path)
    #expect(conversation.done.first?.hasPrefix("set up 0/1") == true)
  }

  @Test func aStreamWithOneTrackNeedsNoTrack() {
    var conversation = Conversation()
    #expect(!conversation.setUp(film + "/").isEmpty)
    #expect(Conversation.status(conversation.ask("SETUP", live, ["Transport: RTP/AVP/TCP"])) == 459)
    #expect(
      Conversation.status(
        conversation.ask("SETUP", live + "/trackID=3", ["Transport: RTP/AVP/TCP"]))
        == 404)
  }

  @Test(arguments: [
    // FFmpeg, VLC, GStreamer, and QuickTime, which names no channels.
    ("RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=000000AB"),
    (
      "RTP/AVP;unicast;client_port=5000-5001",
      "RTP/AVP;unicast;client_port=5000-5001;server_port=7000-7001;ssrc=000000AB"
    ),
    (
      "RTP/AVP/UDP;unicast;client_port=5000-5001,RTP/AVP/TCP;unicast;interleaved=0-1",
      "RTP/AVP/UDP;unicast;client_port=5000-5001;server_port=7000-7001;ssrc=000000AB"
    ),
    (
      "RAW/RAW/UDP;unicast;client_port=1-2,RTP/AVP/TCP;unicast",
      "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=000000AB"
    ),
    (
      "RTP/AVP/TCP;unicast;interleaved=5-6;mode=\"PLAY\"",
      "RTP/AVP/TCP;unicast;interleaved=5-6;ssrc=000000AB"
    ),
    (
      "RTP/AVP;multicast",
      "RTP/AVP;multicast;destination=239.1.2.3;port=6000-6001;ttl=1;ssrc=000000AB"
    ),
    // Where media go is not for a request to say.
    (
      "RTP/AVP;unicast;destination=198.51.100.7;client_port=5000-5001",
      "RTP/AVP;unicast;client_port=5000-5001;server_port=7000-7001;ssrc=000000AB"
    ),
    (
      "RTP/SAVP;unicast;client_port=5000",
      "RTP/SAVP;unicast;client_port=5000-5001;server_port=7000-7001;ssrc=000000AB"
    ),
  ])
  func theFirstTransportThatCanBeServedIsTaken(asked: String, answered: String) {
    var conversation = Conversation()
    let response = conversation.ask("SETUP", live + "/trackID=1", ["Transport: \(asked)"])
    #expect(Conversation.header("Transport", in: response) == answered)
    let session = Conversation.header("Session", in: response) ?? ""
    #expect(session.wholeMatch(of: #/[A-Za-z0-9]{16};timeout=60/#) != nil, "\(session)")
  }

  @Test(arguments: [
    ("RTP/AVP/DCCP;unicast;client_port=1-2", 461), ("RTP/AVP;unicast", 461), ("", 461),
    ("RTP/AVP/TCP;unicast;interleaved=255-256", 400), ("RTP/AVP/TCP;interleaved=-1", 400),
    ("RTP/AVP;unicast;client_port=65535-65536", 400), ("RTP/AVP;unicast;client_port=0-1", 400),
    ("RTP/AVP;unicast;client_port=99999999999999999999-1", 400),
    ("RTP/AVP/TCP;unicast;interleaved=\(Int.max)", 400), ("RTP/AVP;client_port=\(Int.max)", 400),
    ("RTP/AVP/TCP;unicast;mode=record", 461),
    (String(repeating: "RTP/AVP/TCP,", count: 300), 400),
  ])
  func othersAreRefused(asked: String, status: Int) {
    var conversation = Conversation()
    let response = conversation.ask("SETUP", live + "/trackID=1", ["Transport: \(asked)"])
    #expect(Conversation.status(response) == status)
    #expect(conversation.session.sessions.isEmpty)
  }

  @Test func aSecondTrackGoesTheWayOfTheFirst() {
    var conversation = Conversation()
    let id = conversation.setUp(live + "/trackID=1")
    let response = conversation.ask(
      "SETUP", live + "/trackID=2",
      ["Session: \(id)", "Transport: RTP/AVP;unicast;client_port=5-6,RTP/AVP/TCP;interleaved=0-1"])
    // The pair of the first track is not given twice.
    #expect(
      Conversation.header("Transport", in: response)
        == "RTP/AVP/TCP;unicast;interleaved=2-3;ssrc=000000AB")
  }

  @Test func portsOfAnotherClientAreNotGivenAgain() {
    var conversation = Conversation()
    conversation.outcomes = [.taken, .ready(ssrc: 1)]
    let response = conversation.ask(
      "SETUP", live + "/trackID=1",
      ["Transport: RTP/AVP;unicast;client_port=5-6,RTP/AVP/TCP;unicast;interleaved=0-1"])
    #expect(
      Conversation.header("Transport", in: response)
        == "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=00000001")
    conversation.outcomes = [.taken]
    let refused = conversation.ask(
      "SETUP", live + "/trackID=1", ["Transport: RTP/AVP;unicast;client_port=5-6"])
    #expect(Conversation.status(refused) == 461)
  }

  @Test func serversWithoutPortsSayItAtTheFirstTrack() {
    var conversation = Conversation { $0.serverPorts = nil }
    let response = conversation.ask(
      "SETUP", live + "/trackID=1", ["Transport: RTP/AVP;unicast;client_port=5-6"])
    #expect(Conversation.status(response) == 461)
  }

  @Test func playSaysWhichPacketsFollow() {
    var conversation = Conversation()
    let (first, second) = (live + "/trackID=1", "rtsp://192.0.2.1:8554/live?x/trackID=2")
    let id = conversation.setUp(first)
    _ = conversation.setUp(second, ["Session: \(id)"])
    let response = conversation.ask(
      "PLAY", live + "/", ["Session: \(id)", "Range: npt=0.000-"])
    #expect(
      Conversation.header("RTP-Info", in: response)
        == "url=\(first);seq=17;rtptime=1000,url=\(second);seq=99;rtptime=2000")
    #expect(Conversation.header("Range", in: response) == "npt=now-")
    // The response leaves before the first frame.
    #expect(conversation.done.suffix(2) == ["play", "start"])
  }

  @Test func whatIsUnknownOfOneTrackIsSaidOfNone() {
    var conversation = Conversation()
    conversation.beginning?.packets[1] = nil
    let id = conversation.setUp(live + "/trackID=1")
    _ = conversation.setUp(live + "/trackID=2", ["Session: \(id)"])
    let response = conversation.ask("PLAY", live, ["Session: \(id)"])
    #expect(Conversation.status(response) == 200)
    #expect(Conversation.header("RTP-Info", in: response) == nil)
  }

  @Test(arguments: [
    ("npt=0.000-", Passage(start: 0)),
    ("npt=10-20.5", Passage(start: 10_000_000_000, end: 20_500_000_000)),
    ("npt=0:00:10-", Passage(start: 10_000_000_000)), ("npt=now-", Passage()),
    ("npt=5-999;time=19970123T143720Z", Passage(start: 5_000_000_000)),
    ("npt=-30", Passage(end: 30_000_000_000)),
  ])
  func rangesAreRead(text: String, passage: Passage) {
    var conversation = Conversation()
    let id = conversation.setUp(film)
    conversation.beginning?.start = 1_234_000_000
    conversation.beginning?.end = 60_000_000_000
    let response = conversation.ask("PLAY", film, ["Session: \(id)", "Range: \(text)"])
    #expect(conversation.passages == [passage])
    #expect(Conversation.header("Range", in: response) == "npt=1.234-60.000")
  }

  @Test(arguments: [
    "npt=60-", "npt=20-10", "npt=x-", "npt=-", "clock=19960213T143205Z-", "npt=1:2-",
  ])
  func otherRangesAreInvalidInFilesAndIgnoredLive(text: String) {
    var conversation = Conversation()
    let id = conversation.setUp(film)
    let response = conversation.ask("PLAY", film, ["Session: \(id)", "Range: \(text)"])
    #expect(Conversation.status(response) == 457)
    let other = conversation.setUp(live + "/trackID=1")
    let played = conversation.ask("PLAY", live, ["Session: \(other)", "Range: \(text)"])
    #expect(Conversation.status(played) == 200)
  }

  @Test(arguments: [("2", 2.0), ("100", 8), ("0.01", 0.125), ("-2", 1)])
  func scalesAreLimitedInsteadOfRefused(text: String, scale: Double) {
    var conversation = Conversation()
    conversation.beginning?.scale = scale
    let id = conversation.setUp(film)
    let response = conversation.ask("PLAY", film, ["Session: \(id)", "Scale: \(text)"])
    #expect(conversation.passages.first?.scale == scale)
    #expect(Conversation.header("Scale", in: response) == "\(scale)")
  }

  @Test(arguments: ["Scale: 0", "Scale: fast", "Speed: 0", "Scale: nan"])
  func scalesThatAreNoneAreBadRequests(header: String) {
    var conversation = Conversation()
    let id = conversation.setUp(film)
    #expect(Conversation.status(conversation.ask("PLAY", film, ["Session: \(id)", header])) == 400)
  }

  @Test func ffmpegFallsBackFromSilentDatagramsInTheSameConnection() {
    var conversation = Conversation()
    let id =
      Conversation.header(
        "Session",
        in: conversation.ask(
          "SETUP", live + "/trackID=1", ["Transport: RTP/AVP/UDP;unicast;client_port=5-6"])) ?? ""
    let first = String(id.prefix { $0 != ";" })
    conversation.ask("PLAY", live + "/", ["Session: \(first)", "Range: npt=0.000-"])
    #expect(
      Conversation.status(conversation.ask("PAUSE", live + "/", ["Session: \(first)"])) == 200)
    let second = conversation.setUp(live + "/trackID=1")
    #expect(!second.isEmpty && second != first)
    let played = conversation.ask("PLAY", live + "/", ["Session: \(second)", "Range: npt=0.000-"])
    #expect(Conversation.status(played) == 200)
    #expect(conversation.done.suffix(2) == ["play", "start"])
  }

  @Test func vlcDropsATrackAndGoesOn() {
    var conversation = Conversation()
    let id = conversation.setUp(live + "/trackID=1")
    _ = conversation.setUp(live + "/trackID=2", ["Session: \(id)"])
    conversation.ask("TEARDOWN", live + "/trackID=1", ["Session: \(id)"])
    #expect(conversation.done.last == "drop 0")
    #expect(Conversation.status(conversation.ask("PLAY", live, ["Session: \(id)"])) == 200)
    conversation.ask("TEARDOWN", live + "/trackID=2", ["Session: \(id)"])
    #expect(conversation.done.last == "end tornDown")
    #expect(Conversation.status(conversation.ask("PLAY", live, ["Session: \(id)"])) == 454)
  }

  @Test(arguments: [
    ("RECORD", "rtsp://h/live", "", 501), ("describe", "rtsp://h/live", "", 501),
    ("DESCRIBE", "rtsp://h/other", "", 404), ("DESCRIBE", "rtsp://h/", "", 404),
    ("DESCRIBE", "rtsp://h/live", "Accept: text/html", 406),
    ("DESCRIBE", "rtsps://h/live", "", 301), ("PLAY", "rtsp://h/live", "Session: none", 454),
    ("PAUSE", "rtsp://h/live", "", 454), ("GET_PARAMETER", "rtsp://h/live", "Session: none", 454),
    ("GET_PARAMETER", "rtsp://h/live", "", 200), ("SET_PARAMETER", "*", "", 200),
    ("OPTIONS", "*", "Require: com.real.retain-entity-for-setup", 551),
    ("SETUP", "rtsp://h/live/trackID=1", "Session: none", 454),
  ])
  func statusesSayWhatIsWrong(method: String, target: String, header: String, status: Int) {
    var conversation = Conversation()
    let response = conversation.ask(method, target, header.isEmpty ? [] : [header])
    #expect(Conversation.status(response) == status)
    // Nothing of this ends the connection.
    let options = conversation.ask("OPTIONS", "*")
    #expect(
      Conversation.header("Public", in: options)
        == "OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER")
    if status == 551 {
      #expect(
        Conversation.header("Unsupported", in: response) == "com.real.retain-entity-for-setup")
    }
    if status == 301 {
      #expect(Conversation.header("Location", in: response) == "rtsp://h/live")
    }
  }

  @Test func aTrackCannotBeSetUpWhileItPlays() {
    var conversation = Conversation()
    let id = conversation.setUp(live + "/trackID=1")
    conversation.ask("PLAY", live, ["Session: \(id)"])
    let response = conversation.ask(
      "SETUP", live + "/trackID=2", ["Session: \(id)", "Transport: RTP/AVP/TCP"])
    #expect(Conversation.status(response) == 455)
  }

  @Test func aThousandSessionsAreNotMade() {
    var conversation = Conversation()
    for _ in 0..<1000 { _ = conversation.setUp(live + "/trackID=1") }
    #expect(conversation.session.sessions.count == RTSPServerSession.mostSessions)
    #expect(conversation.responses.last.flatMap(Conversation.status) == 503)
  }

  // MARK: Time

  @Test func sessionsEndSomeSecondsAfterTheAnnouncedTime() {
    var conversation = Conversation()
    let id = conversation.setUp(live + "/trackID=1")
    conversation.ask("PLAY", live, ["Session: \(id)"])
    conversation.wait(seconds: 64.9)
    #expect(conversation.session.sessions.count == 1)
    conversation.wait(seconds: 0.2)
    #expect(conversation.done.last == "end silent")
    conversation.wait(seconds: 60)
    #expect(conversation.done.last == "close")
  }

  @Test(arguments: ["OPTIONS", "GET_PARAMETER", "SET_PARAMETER", "PAUSE"])
  func everyRequestIsASignOfLife(method: String) {
    var conversation = Conversation()
    let id = conversation.setUp(live + "/trackID=1")
    for _ in 0..<5 {
      conversation.wait(seconds: 60)
      conversation.ask(method, live, ["Session: \(id)"])
    }
    #expect(conversation.session.sessions.count == 1)
  }

  @Test func reportsAndMediaThatAreTakenAreSignsOfLife() {
    var conversation = Conversation()
    let id = conversation.setUp(live + "/trackID=1")
    conversation.wait(seconds: 60)
    conversation.send([0x24, 1, 0, 8, 0x80, 201, 0, 1, 0, 0, 0, 1])
    #expect(conversation.done.last == "control 0 8")
    conversation.wait(seconds: 60)
    conversation.session.noteLife(of: id, at: conversation.now)
    conversation.wait(seconds: 60)
    #expect(conversation.session.sessions.count == 1)
  }

  @Test func framesOfNobodyAreIgnored() {
    var conversation = Conversation()
    conversation.send([0x24, 9, 0, 4, 1, 2, 3, 4, 0x24, 0, 0, 0])
    #expect(Conversation.status(conversation.ask("OPTIONS", "*")) == 200)
    #expect(conversation.done.isEmpty)
  }

  @Test(arguments: [0.0, 1, 5]) func slowRequestsEnd(pause: Double) {
    var conversation = Conversation()
    if pause == 0 {
      // A client that never says anything.
      conversation.wait(seconds: 10)
    } else {
      conversation.ask("OPTIONS", "*")
      for byte in "OPTIONS * RTSP/1.0\r\nCSeq: 1".utf8 {
        conversation.send([byte])
        conversation.wait(seconds: pause)
      }
    }
    #expect(conversation.done == ["close"])
    #expect(conversation.session.deadline == nil)
  }

  @Test func aConnectionWithoutSessionsHasAMinute() {
    var conversation = Conversation()
    conversation.ask("OPTIONS", "*")
    conversation.wait(seconds: 59)
    #expect(conversation.done.isEmpty)
    conversation.wait(seconds: 2)
    #expect(conversation.done == ["close"])
  }

  @Test func aDescriptionThatDoesNotComeIsNotWaitedForForever() {
    var conversation = Conversation()
    conversation.isDescribed = false
    #expect(conversation.ask("DESCRIBE", live).isEmpty)
    #expect(conversation.ask("OPTIONS", "*").isEmpty)
    conversation.wait(seconds: 10)
    #expect(conversation.responses.map(Conversation.status) == [503, 200])
  }

  // MARK: Bytes

  @Test func everySplitGivesTheSameConversation() {
    let id = "8oqTpLhRrDWsaSNG"
    let text =
      "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n\r\nDESCRIBE \(live) RTSP/1.0\r\nCSeq: 2\r\n"
      + "Content-Length: 3\r\n\r\nabcSETUP \(live)/trackID=1 RTSP/1.0\nCSeq: 3\nTransport:\n"
      + " RTP/AVP/TCP;unicast\n\nRTSP/1.0 200 OK\r\nCSeq: 9\r\n\r\nPLAY \(live) RTSP/1.0\r\n"
      + "CSeq: 4\r\nSession: \(id)\r\n\r\n"
    var whole = Conversation()
    whole.send(text)
    #expect(whole.responses.count == 4)
    for split in 0...text.utf8.count {
      var parts = Conversation()
      parts.send(Array(text.utf8.prefix(split)))
      parts.send(Array(text.utf8.dropFirst(split)))
      #expect(parts.responses == whole.responses, "\(split)")
    }
  }

  @Test(arguments: [
    ("GET / HTTP/2\r\n\r\n", 505), ("GET / HTTP/1.1\r\n\r\n", 400), ("\u{16}\u{3}\u{1}", 400),
    ("A B\r\n\r\n", 400),
    (" OPTIONS * RTSP/1.0\r\n\r\n", 400), ("OPTIONS * RTSP/1.0\r\nno colon\r\n\r\n", 400),
    ("OPTIONS * RTSP/1.0\r\n: x\r\n\r\n", 400), ("OPTIONS * RTSP/1.0\r\nA: \u{0}\r\n\r\n", 400),
    ("OPTIONS * RTSP/1.0\r\nContent-Length: -1\r\n\r\n", 400),
    ("OPTIONS * RTSP/1.0\r\nContent-Length: 9223372036854775807\r\n\r\n", 413),
    ("OPTIONS * RTSP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
    ("OPTIONS \(String(repeating: "x", count: 3000)) RTSP/1.0\r\n\r\n", 414),
    ("OPTIONS * RTSP/1.0\r\n" + String(repeating: "A: b\r\n", count: 200) + "\r\n", 413),
    ("OPTIONS * RTSP/1.0\r\nA: " + String(repeating: "x", count: 100_000), 413),
    (String(repeating: "A", count: 100_000), 413),
  ])
  func whatIsNoRequestIsAnsweredOnceAndEnds(text: String, status: Int) {
    var conversation = Conversation()
    conversation.send(text)
    #expect(conversation.responses.map(Conversation.status) == [status])
    #expect(status == 505 || conversation.done == ["close"])
    conversation.send(text)
    #expect(status == 505 || conversation.responses.count == 1)
  }

  @Test func responsesWithoutEndAreSkippedWithoutRecursion() {
    var conversation = Conversation()
    conversation.send(String(repeating: "RTSP/1.0 200 OK\r\n\r\n", count: 100_000))
    #expect(conversation.responses.isEmpty)
    #expect(Conversation.status(conversation.ask("OPTIONS", "*")) == 200)
  }

  @Test func randomBytesDoNoHarm() {
    var dice = SplitMix64(seed: 4711)
    let words = [
      "OPTIONS ", "SETUP ", "PLAY ", live, "/trackID=1", " RTSP/1.0\r\n", "\r\n", "\r\n\r\n",
      "$\u{1}",
      "Transport: RTP/AVP/TCP;interleaved=", "0-1", "Session: ", "Range: npt=", "-", "%", "%4", "=",
      ";", ",", "Content-Length: 5\r\n", "\u{0}", "Scale: 1e400\r\n", "\"", ":", "@", "://",
    ]
    for _ in 0..<2000 {
      var conversation = Conversation()
      for _ in 0..<20 {
        guard let word = words.randomElement(using: &dice) else { continue }
        conversation.send(word)
      }
      conversation.wait(seconds: 100)
      #expect(conversation.session.sessions.isEmpty)
    }
  }
}

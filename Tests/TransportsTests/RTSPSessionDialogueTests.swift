import NIOCore
import RTPWire
import Testing

@testable import Transports

struct RTSPSessionDialogueTests {
  @Test func aServerThatDoesEverythingRight() throws {
    var conversation = try Conversation(["DESCRIBE": [.audioAndVideo], "SETUP": [.tcp]]) {
      $0.selection = .firstVideo
    }
    conversation.run()
    conversation.session.teardown(at: conversation.now)
    conversation.run()
    #expect(
      conversation.transcript == [
        "connect rtsp://camera/live", "OPTIONS rtsp://camera/live", "DESCRIBE rtsp://camera/live",
        "describe 1", "SETUP rtsp://camera/live/track2", "PLAY rtsp://camera/live", "playing",
        "TEARDOWN rtsp://camera/live", "end",
      ])
    #expect(conversation.end == .finished)
    #expect(conversation.reports.isEmpty)
    #expect(conversation.requests.map { $0.headers["CSeq"] } == ["1", "2", "3", "4", "5"])
    #expect(conversation.requests.allSatisfy { $0.headers["User-Agent"] == "rtp-recv" })
    #expect(conversation.values(of: "Accept", in: "DESCRIBE") == ["application/sdp"])
    #expect(
      conversation.values(of: "Transport", in: "SETUP") == ["RTP/AVP/TCP;unicast;interleaved=0-1"])
    #expect(conversation.values(of: "Range", in: "PLAY") == ["npt=0.000-"])
    #expect(conversation.values(of: "Session", in: "SETUP") == ["-"])
    #expect(conversation.values(of: "Session", in: "PLAY") == ["1"])
    #expect(conversation.values(of: "Session", in: "TEARDOWN") == ["1"])
  }

  @Test func aProbeEndsAfterTheDescription() throws {
    var conversation = try Conversation(["DESCRIBE": [.audioAndVideo]], purpose: .describe)
    conversation.run()
    #expect(
      conversation.transcript.suffix(3) == ["DESCRIBE rtsp://camera/live", "describe 1", "end"])
    #expect(conversation.end == .finished)
  }

  @Test func aProbeOfAudioAloneIsNoFailure() throws {
    let audio = Reply.description("m=audio 0 RTP/AVP 0")
    var conversation = try Conversation(["DESCRIBE": [audio]], purpose: .describe)
    conversation.run()
    #expect(conversation.transcript.suffix(2) == ["describe -", "end"])
  }

  @Test(arguments: [404, 405, 451, 500, 501, 503])
  func optionsMayBeRefused(status: Int) throws {
    var conversation = try Conversation([
      "OPTIONS": [.status(status)], "DESCRIBE": [.oneVideo], "SETUP": [.tcp],
    ])
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.reports == [.optionsRefused(status: status)])
  }

  @Test(
    arguments: [
      (Reply.ok, RTSPError.emptyDescription),
      (Reply(body: "<html>"), .sessionDescription(.notADescription)),
      (.description("m=audio 0 RTP/AVP 0"), .noVideo),
      (.description("m=video 0 UDP/TLS/RTP/SAVP 96"), .unsupportedProfile("UDP/TLS/RTP/SAVP")),
      (.status(404, "Not Found"), .refused(method: "DESCRIBE", status: 404, reason: "Not Found")),
      (
        .status(407, "Proxy Authentication Required"),
        .refused(method: "DESCRIBE", status: 407, reason: "Proxy Authentication Required")
      ),
    ]
  )
  func aDescriptionThatIsOfNoUseEndsTheSession(reply: Reply, error: RTSPError) throws {
    var conversation = try Conversation(["DESCRIBE": [reply]])
    conversation.run()
    #expect(conversation.end == .failed(error))
  }

  /// Whoever describes a stream may send any of its formats (RFC 8866 §5.14).
  @Test(arguments: [(["H264"], 99), (["H265"], 97)] as [(Set<String>, UInt8)])
  func ofSeveralFormatsTheFirstThatIsKnownIsUsed(known: Set<String>, used: UInt8) throws {
    let video = Reply.description(
      "m=video 0 RTP/AVP 97 99", "a=rtpmap:97 VP8/90000", "a=rtpmap:99 H264/90000",
      "a=control:track1")
    var conversation = try Conversation(["DESCRIBE": [video], "SETUP": [.tcp]]) {
      $0.formats.knownEncodings = known
    }
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.description?.media.first?.description.payloadType == used)
  }

  @Test("where sound would do, a description with neither video nor known sound says so")
  func unknownSoundAlone() throws {
    var conversation = try Conversation(["DESCRIBE": [.description("m=audio 0 RTP/AVP 14")]]) {
      $0.soundEncodings = ["PCMU"]
    }
    conversation.run()
    #expect(conversation.end == .failed(.noKnownMedia))
  }

  @Test(
    arguments: [
      (0, "rtsp://camera/live/track1", ["RTP/AVP/TCP;unicast;interleaved=0-1"]),
      (1, "rtsp://camera/live/track2", ["RTP/AVP/TCP;unicast;interleaved=0-1"]),
    ]
  )
  func aStreamIsChosenByItsNumber(number: Int, url: String, transports: [String]) throws {
    var conversation = try Conversation(["DESCRIBE": [.audioAndVideo], "SETUP": [.tcp]]) {
      $0.selection = .number(number)
    }
    conversation.run()
    #expect(conversation.requests.filter { $0.method == "SETUP" }.map(\.uri) == [url])
    #expect(conversation.values(of: "Transport", in: "SETUP") == transports)
  }

  @Test(arguments: [2, -1, Int.max])
  func aStreamThatIsNotThereCannotBeChosen(number: Int) throws {
    var conversation = try Conversation(["DESCRIBE": [.audioAndVideo]]) {
      $0.selection = .number(number)
    }
    conversation.run()
    #expect(conversation.end == .failed(.noSuchStream(number: number)))
  }

  @Test func devicesThatWantAudioSetUpGetIt() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.audioAndVideo],
      "SETUP": [.tcp, .setUp("RTP/AVP/TCP;unicast;interleaved=2-3")],
    ]) {
      $0.selection = .firstVideo
      $0.setsUpEverything = true
    }
    conversation.run()
    #expect(
      conversation.requests.filter { $0.method == "SETUP" }.map(\.uri) == [
        "rtsp://camera/live/track2", "rtsp://camera/live/track1",
      ])
    #expect(
      conversation.values(of: "Transport", in: "SETUP") == [
        "RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP/TCP;unicast;interleaved=2-3",
      ])
    #expect(conversation.values(of: "Session", in: "SETUP") == ["-", "1"])
    let now = conversation.now
    #expect(conversation.session.route(channel: 0, at: now) == .deliver(.media))
    #expect(conversation.session.route(channel: 1, at: now) == .deliver(.control))
    #expect(conversation.session.route(channel: 2, at: now) == .unwanted)
    #expect(conversation.session.route(channel: 3, at: now) == .unwanted)
    #expect(conversation.session.route(channel: 4, at: now) == .unassigned)
    #expect(conversation.session.assignedChannels == [0, 1, 2, 3])
  }

  @Test func anotherStreamThatIsRefusedIsDoneWithout() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.audioAndVideo], "SETUP": [.tcp, .status(500)],
    ]) { $0.setsUpEverything = true }
    conversation.run()
    #expect(conversation.transcript.last == "playing")
  }

  /// A server with one track takes a second SETUP of the whole for one of that track again.
  @Test(
    "a stream without a URL is left out beside others",
    arguments: [
      (0, ["track1"], [1]), (0, [nil], [1]), (1, ["track1"], [0]), (1, [nil], [0]),
      (0, ["track1", "track3"], [1]),
    ] as [(Int, [String?], [Int])],
    [RTSPConfiguration.LowerTransport.tcp, .udp])
  func streamWithoutURL(
    _ place: (video: Int, controls: [String?], leftOut: [Int]),
    lowerTransport: RTSPConfiguration.LowerTransport
  ) throws {
    var sections = place.controls.enumerated().map { index, control in
      [index == 0 ? "m=video 0 RTP/AVP 96" : "m=audio 0 RTP/AVP 8"]
        + (control.map { ["a=control:\($0)"] } ?? [])
    }
    sections.insert(["m=audio 0 RTP/AVP 0"], at: 1 - place.video)
    let answers: [Reply] =
      lowerTransport == .tcp
      ? [.tcp, .setUp("RTP/AVP/TCP;unicast;interleaved=2-3")]
      : [.udp, .setUp("RTP/AVP;unicast;client_port=5002-5003;server_port=6002-6003")]
    var conversation = try Conversation(
      ["DESCRIBE": [.description(sections.flatMap { $0 })], "SETUP": answers],
      over: lowerTransport)
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    let uris: [String] = place.controls.map { control in
      control.map { "rtsp://camera/live/\($0)" } ?? "rtsp://camera/live"
    }
    #expect(conversation.requests.filter { $0.method == "SETUP" }.map(\.uri) == uris)
    #expect(conversation.reports == place.leftOut.map { .streamWithoutURL(media: $0) })
    guard lowerTransport == .tcp else { return }
    let now = conversation.now
    #expect(conversation.session.route(channel: 0, at: now) == .deliver(.media, track: 0))
    #expect(
      conversation.session.route(channel: 2, at: now)
        == (place.controls.count > 1 ? .deliver(.media, track: 1) : .unassigned))
  }

  @Test func aRetransmissionWithoutAURLIsLeftOut() throws {
    let description = Reply.description(
      "a=group:FID 1 2", "m=video 0 RTP/AVPF 96", "a=mid:1", "a=rtpmap:96 H264/90000",
      "a=control:track1", "m=video 0 RTP/AVPF 97", "a=mid:2", "a=rtpmap:97 rtx/90000",
      "a=fmtp:97 apt=96")
    var conversation = try Conversation(["DESCRIBE": [description], "SETUP": [.tcp]])
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.count(of: "SETUP") == 1)
    #expect(conversation.reports == [.streamWithoutURL(media: 1)])
  }

  @Test func theStreamThatMustNotFailMayHaveNoURLBesideOthers() throws {
    let description = Reply.description(
      "m=audio 0 RTP/AVP 0", "a=control:track1", "m=video 0 RTP/AVP 96",
      "a=rtpmap:96 H264/90000")
    var conversation = try Conversation([
      "DESCRIBE": [description],
      "SETUP": [.tcp, .setUp("RTP/AVP/TCP;unicast;interleaved=2-3")],
    ])
    conversation.run()
    #expect(
      conversation.requests.filter { $0.method == "SETUP" }.map(\.uri)
        == ["rtsp://camera/live", "rtsp://camera/live/track1"])
    #expect(conversation.reports.isEmpty)
  }

  // MARK: Channels

  @Test(
    arguments: [
      // The channels that the server names count, whatever was asked for.
      ("RTP/AVP/TCP;unicast;interleaved=4-5", [4, 5], 5),
      ("RTP/AVP/TCP;interleaved=5-6;ssrc=1234", [5, 6], 6),
      // Escam's Q6 answers RTP/AVP.
      ("RTP/AVP;unicast;interleaved=0-1", [0, 1], 1),
      // Luckfox's rkipc puts the SSRC first.
      ("RTP/AVP/TCP;ssrc=0A0B0C0D;unicast;interleaved=2-3", [2, 3], 3),
      // With one number alone, servers send RTCP on the next.
      ("RTP/AVP/TCP;unicast;interleaved=4", [4, 5], 5),
      ("RTP/AVP/TCP;unicast", [0, 1], 1), ("", [0, 1], 1),
    ]
  )
  func framesComeOnTheChannelsOfTheAnswer(
    transport: String, channels: [Int], feedback: UInt8
  ) throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.setUp(transport.isEmpty ? nil : transport)],
    ])
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    let now = conversation.now
    let routes: [Int] = (0...255).compactMap {
      conversation.session.route(channel: UInt8($0), at: now) == .unassigned ? nil : $0
    }
    #expect(routes == channels)
    let media = UInt8(channels[0])
    #expect(conversation.session.route(channel: media, at: now) == .deliver(.media))
    #expect(conversation.session.route(channel: media + 1, at: now) == .deliver(.control))
    #expect(conversation.session.feedbackChannel(ofTrack: 0) == feedback)
  }

  /// One number for each track: the next one may be that of another.
  @Test func aChannelThatIsNamedIsNobodyElses() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.audioAndVideo],
      "SETUP": [
        .setUp("RTP/AVP/TCP;unicast;interleaved=0"), .setUp("RTP/AVP/TCP;unicast;interleaved=1"),
      ],
    ]) { $0.selection = .everything }
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    let now = conversation.now
    let routes = (0...3).map { conversation.session.route(channel: $0, at: now) }
    // The video is set up first.
    #expect(
      routes == [
        .deliver(.media, track: 1), .deliver(.media, track: 0), .deliver(.control, track: 0),
        .unassigned,
      ])
    #expect(conversation.session.feedbackChannel(ofTrack: 1) == nil)
    #expect(conversation.session.feedbackChannel(ofTrack: 0) == 2)
  }

  @Test func otherChannelsThanAskedAreReported() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.setUp("RTP/AVP/TCP;interleaved=4-5")],
    ])
    conversation.run()
    #expect(conversation.reports == [.otherChannels(asked: 0, given: 4)])
  }

  @Test func framesThatComeBeforePlayIsAnsweredAreNotLost() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.tcp], "PLAY": [.silence],
    ])
    conversation.execute()
    #expect(conversation.methods.last == "PLAY")
    for _ in 0..<100_000 {
      guard conversation.session.route(channel: 0, at: conversation.now) == .deliver(.media) else {
        Issue.record("a frame was lost")
        break
      }
    }
    #expect(conversation.session.nextAction() == nil)
  }

  @Test func framesOfAnEarlierSessionHaveNoChannel() throws {
    var conversation = try Conversation(["DESCRIBE": [.silence]])
    conversation.execute()
    #expect(conversation.session.route(channel: 0, at: conversation.now) == .unassigned)
    conversation.execute()
    #expect(conversation.reports == [.unassignedChannel(0)])
  }

  @Test func aFloodOnUnknownChannelsIsReportedOnceForEach() throws {
    var conversation = try Conversation(["DESCRIBE": [.silence]])
    conversation.execute()
    for index in 0..<10_000 {
      _ = conversation.session.route(channel: UInt8(index % 256), at: conversation.now)
    }
    conversation.execute()
    #expect(conversation.reports.count == TransportCounters.maximumDiagnostics)
  }

  // MARK: Identifiers and numbers

  @Test func aSessionIdentifierThatChangesIsFollowed() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.audioAndVideo],
      "SETUP": [
        .setUp("RTP/AVP/TCP;interleaved=0-1", session: "first"),
        .setUp("RTP/AVP/TCP;interleaved=2-3", session: "second"),
      ],
    ]) { $0.setsUpEverything = true }
    conversation.run()
    #expect(conversation.values(of: "Session", in: "SETUP") == ["-", "first"])
    #expect(conversation.values(of: "Session", in: "PLAY") == ["second"])
    #expect(conversation.reports == [.sessionIdentifierChanged])
  }

  /// H264DVR gives each SETUP another one.
  @Test(
    "of several identifiers the one that the server knows is used",
    arguments: [
      ("first", ["-", "first", "second", "first"], ["third", "first"]),
      ("third", ["-", "first", "second"], ["third"]),
    ])
  func identifiersThatChange(known: String, setUps: [String], plays: [String]) throws {
    let refusal = Reply.status(454, "Session Not Found")
    let answers = ["first", "second", "third"].enumerated().map { place, name in
      Reply.setUp("RTP/AVP/TCP;interleaved=\(2 * place)-\(2 * place + 1)", session: name)
    }
    let knowsFirst = known == "first"
    var conversation = try Conversation([
      "DESCRIBE": [
        .description(
          "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000", "a=control:track1",
          "m=audio 0 RTP/AVP 0", "a=control:track2", "m=audio 0 RTP/AVP 8", "a=control:track3")
      ],
      "SETUP": knowsFirst ? [answers[0], answers[1], refusal, answers[2]] : answers,
      "PLAY": knowsFirst ? [refusal, .ok] : [.ok],
    ])
    conversation.run(milliseconds: 35_000)
    #expect(conversation.values(of: "Session", in: "SETUP") == setUps)
    #expect(conversation.values(of: "Session", in: "PLAY") == plays)
    #expect(conversation.values(of: "Session", in: "GET_PARAMETER") == [known])
    #expect(conversation.reports == [.sessionIdentifierChanged])
    #expect(conversation.end == nil)
  }

  /// 454 may mean the URL too.
  @Test func aServerThatKnowsNoIdentifierWithTheURLGetsTheLatestWithAnother() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.audioAndVideo],
      "SETUP": [
        .setUp("RTP/AVP/TCP;interleaved=0-1", session: "first"),
        .setUp("RTP/AVP/TCP;interleaved=2-3", session: "second"),
      ],
      "PLAY": [.status(454), .status(454), .ok],
    ])
    conversation.run()
    #expect(conversation.values(of: "Session", in: "PLAY") == ["second", "first", "second"])
    let urls = conversation.requests.filter { $0.method == "PLAY" }.map(\.uri)
    #expect(urls[0] == urls[1] && urls[1] != urls[2])
    #expect(conversation.transcript.last == "playing")
  }

  @Test func aServerWithoutSessionIdentifiersIsPlayed() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.setUp("RTP/AVP/TCP;interleaved=0-1", session: nil)],
    ])
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.reports == [.sessionIdentifierMissing])
    conversation.session.teardown(at: conversation.now)
    conversation.run()
    #expect(conversation.methods.last == "TEARDOWN")
  }

  @Test(arguments: [Reply.Sequence.left, .changed(by: -1), .changed(by: 100), .changed(by: -1000)])
  func responsesWithAWrongCSeqBelongToTheOneRequestUnderWay(sequence: Reply.Sequence) throws {
    let script: Conversation.Script = [
      "OPTIONS": [.ok], "DESCRIBE": [.oneVideo], "SETUP": [.tcp], "PLAY": [.ok],
    ]
    var conversation = try Conversation(script.mapValues { $0.map { $0.sequence(sequence) } })
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.reports == [.wrongSequence])
  }

  @Test func responsesThatAnswerNothingAreIgnored() throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]])
    conversation.run()
    for _ in 0..<100 {
      conversation.session.receive(RTSPResponse(status: 404, reason: ""), at: conversation.now)
    }
    conversation.run()
    #expect(conversation.end == nil)
    #expect(conversation.reports == [.unexpectedResponse])
  }

  /// A copy of the answer to OPTIONS is no description.
  @Test func aServerThatSendsEachAnswerTwiceIsPlayed() throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]])
    conversation.sendsAnswersTwice = true
    conversation.run(milliseconds: 65_000)
    #expect(
      conversation.methods
        == ["OPTIONS", "DESCRIBE", "SETUP", "PLAY", "GET_PARAMETER", "GET_PARAMETER"])
    #expect(conversation.reports == [.unexpectedResponse])
    #expect(conversation.end == nil)
  }

  @Test func provisionalResponsesAnnounceTheAnswer() throws {
    var conversation = try Conversation(["OPTIONS": [.silence], "DESCRIBE": [.silence]])
    conversation.execute()
    conversation.session.receive(
      RTSPResponse(status: 100, reason: "Continue"), at: conversation.now)
    conversation.execute()
    #expect(conversation.methods == ["OPTIONS"])
    conversation.session.receive(RTSPResponse(status: 200, reason: "OK"), at: conversation.now)
    conversation.execute()
    #expect(conversation.methods == ["OPTIONS", "DESCRIBE"])
  }

  // MARK: URLs

  @Test(arguments: [400, 404, 451, 454, 455, 503])
  func aControlURLThatIsRefusedIsBuiltInAnotherWay(status: Int) throws {
    let description = Reply.description(
      "m=video 0 RTP/AVP 96", "a=control:track1", base: "rtsp://camera/live?user=a&stream=1")
    var conversation = try Conversation([
      "DESCRIBE": [description], "SETUP": [.status(status), .tcp],
    ])
    conversation.run()
    let urls = conversation.requests.filter { $0.method == "SETUP" }.map(\.uri)
    #expect(urls.count == 2)
    #expect(Set(urls).count == 2)
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.reports == [.controlURLRewritten])
  }

  @Test func aServerThatRefusesEveryURLEndsTheSession() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.status(404, "Stream Not Found")],
    ])
    conversation.run()
    #expect(
      conversation.end
        == .failed(.refused(method: "SETUP", status: 404, reason: "Stream Not Found")))
    #expect(conversation.count(of: "SETUP") <= 6)
  }

  @Test func aServerWithoutAggregateControlIsPlayedByItsStream() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.tcp],
      "PLAY": [.status(459, "Aggregate Operation Not Allowed"), .ok],
    ])
    conversation.run()
    #expect(conversation.requests.last?.uri == "rtsp://camera/live/track1")
    #expect(conversation.transcript.last == "playing")
  }

  @Test func aServerThatRefusesToPlayIsLeftInOrder() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.tcp], "PLAY": [.status(453, "Not Enough Bandwidth")],
    ])
    conversation.run()
    #expect(
      conversation.end
        == .failed(.refused(method: "PLAY", status: 453, reason: "Not Enough Bandwidth")))
    #expect(conversation.methods.suffix(2) == ["PLAY", "TEARDOWN"])
  }

  @Test func aServerThatRefusesTheRangeIsPlayedWithoutOne() throws {
    let refusal = Reply.status(457, "Invalid Range")
    var script: Conversation.Script = ["DESCRIBE": [.oneVideo], "SETUP": [.tcp]]
    script["PLAY"] = [refusal, .ok]
    var conversation = try Conversation(script)
    conversation.run()
    #expect(conversation.values(of: "Range", in: "PLAY") == ["npt=0.000-", "-"])
    #expect(conversation.transcript.last == "playing")
    script["PLAY"] = [refusal]
    conversation = try Conversation(script)
    conversation.run()
    #expect(
      conversation.end
        == .failed(.refused(method: "PLAY", status: 457, reason: "Invalid Range")))
    #expect(conversation.count(of: "PLAY") == 2)
  }

  // MARK: RTP-Info

  /// Hikvision's DS-2CD2032-I always says number 0, TP-Link's Tapo C320WS always 1, OMNY's M5S2A
  /// counts backwards.
  @Test(
    arguments: [
      "url=rtsp://camera/live/track1;seq=0;rtptime=0", "url=rtsp://camera/live/track1;seq=1",
      "url=rtsp://camera/live/track1;seq=7;rtptime=-81",
      "url=rtsp://camera/live/track1;seq=99999;rtptime=99999999999", "", ";;;===,,,",
    ]
  )
  func whatRTPInfoSaysDoesNotMatter(field: String) throws {
    var conversation = try Conversation([
      "DESCRIBE": [.oneVideo], "SETUP": [.tcp], "PLAY": [.ok.with("RTP-Info", field)],
    ])
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.reports.isEmpty)
  }

  // MARK: Requests of the server

  @Test(
    arguments: [
      ("OPTIONS", 200), ("GET_PARAMETER", 200), ("SET_PARAMETER", 200), ("ANNOUNCE", 200),
      ("PLAY_NOTIFY", 501), ("DESCRIBE", 501), ("RECORD", 501), ("", 501),
    ]
  )
  func requestsOfTheServerAreAnswered(method: String, status: Int) throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]])
    conversation.run()
    var request = RTSPRequest(method: method, uri: "rtsp://camera/live")
    request.headers.add("CSeq", "77")
    request.headers.add("Session", "1")
    conversation.session.receive(request, at: conversation.now)
    conversation.run()
    #expect(conversation.responses.map(\.status) == [status])
    #expect(conversation.responses.first?.headers["CSeq"] == "77")
    #expect(conversation.responses.first?.headers["Session"] == "1")
    #expect(conversation.end == nil)
  }

  @Test func aServerThatTearsDownEndsTheSession() throws {
    var conversation = try Conversation(["DESCRIBE": [.oneVideo], "SETUP": [.tcp]])
    conversation.run()
    conversation.session.receive(
      RTSPRequest(method: "TEARDOWN", uri: "rtsp://camera/live"), at: conversation.now)
    conversation.run()
    #expect(conversation.responses.map(\.status) == [200])
    #expect(conversation.end == .finished)
    #expect(conversation.count(of: "TEARDOWN") == 0)
  }
}

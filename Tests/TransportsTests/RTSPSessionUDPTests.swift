import NIOCore
import RTPWire
import Testing

@testable import Transports

struct RTSPSessionUDPTests {
  @Test func aServerThatSendsOverUDP() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.udp]], over: .automatic)
    conversation.run(milliseconds: 20_000)
    #expect(
      conversation.transcript == [
        "connect rtsp://camera/live", "OPTIONS rtsp://camera/live", "DESCRIBE rtsp://camera/live",
        "describe 0", "open 0", "SETUP rtsp://camera/live/track1", "expect 0 from 6000-6001",
        "PLAY rtsp://camera/live", "playing",
      ])
    #expect(
      conversation.values(of: "Transport", in: "SETUP") == [
        "RTP/AVP;unicast;client_port=5000-5001"
      ])
    #expect(conversation.session.feedbackChannel(ofTrack: 0) == nil)
    #expect(conversation.end == nil)
  }

  @Test(
    arguments: [
      ("RTP/AVP;unicast;source=203.0.113.9;server_port=6000-6001", "expect 0 from 6000-6001"),
      ("RTP/AVP;unicast;destination=203.0.113.9;server_port=6000-6001", "expect 0 from 6000-6001"),
      ("RTP/AVP;unicast;server_port=6000", "expect 0 from 6000-0"),
      ("RTP/AVP;unicast", "expect 0 from 0-0"),
    ]
  )
  func onlyThePortsOfTheAnswerCount(transport: String, expected: String) throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.setUp(transport)]], over: .udp)
    conversation.run()
    #expect(conversation.transcript.contains(expected))
  }

  @Test func encryptedSessionsKeepTheMediaInTheConnection() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.tcp]], url: "rtsps://camera/live", over: .automatic)
    conversation.run()
    #expect(
      conversation.values(of: "Transport", in: "SETUP") == ["RTP/AVP/TCP;unicast;interleaved=0-1"])
  }

  @Test func aServerThatCannotSendOverUDPIsAskedForTheConnectionAtOnce() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.status(461, "Unsupported Transport"), .tcp]],
      over: .automatic)
    conversation.run()
    #expect(
      conversation.transcript.dropFirst(4) == [
        "open 0", "SETUP rtsp://camera/live/track1", "close ports",
        "SETUP rtsp://camera/live/track1", "PLAY rtsp://camera/live", "playing",
      ])
    #expect(conversation.reports == [.udpRefused])
    #expect(conversation.milliseconds <= 2000)
  }

  @Test(
    "a server that does not answer a SETUP over UDP is asked for the connection",
    arguments: [(.silence, 10_000), (.close, 0)] as [(Reply, Int64)])
  func udpIsNotAnswered(reply: Reply, milliseconds: Int64) throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [reply, .tcp]], over: .automatic)
    conversation.run(milliseconds: 20_000)
    #expect(
      conversation.transcript.dropFirst(4) == [
        "open 0", "SETUP rtsp://camera/live/track1", "close ports", "connect rtsp://camera/live",
        "DESCRIBE rtsp://camera/live", "SETUP rtsp://camera/live/track1",
        "PLAY rtsp://camera/live", "playing",
      ])
    #expect(
      conversation.values(of: "Transport", in: "SETUP") == [
        "RTP/AVP;unicast;client_port=5000-5001", "RTP/AVP/TCP;unicast;interleaved=0-1",
      ])
    #expect(conversation.times.last == milliseconds)
    #expect(conversation.reports.contains(.udpRefused))
    #expect(conversation.end == nil)
  }

  @Test func aServerThatAnswersNoSetUpEitherWayIsGivenUp() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.silence]], over: .automatic)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.noResponse(method: "SETUP", seconds: 10)))
    #expect(conversation.milliseconds == 20_000)
    #expect(conversation.count(of: "SETUP") == 2)
  }

  /// Its TEARDOWN is not answered yet when the next connection comes.
  @Test(
    "a camera for one client that still has the session over UDP is asked a second time",
    arguments: [453, 503])
  func formerSession(status: Int) throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.udp, .status(status), .tcp]], over: .automatic)
    conversation.isUDPBlocked = true
    conversation.run(milliseconds: 20_000)
    #expect(conversation.transcript.last == "playing")
    let setUps = zip(conversation.methods, conversation.times).filter { $0.0 == "SETUP" }
    #expect(setUps.map { $0.1 } == [0, 3000, 5000])
    #expect(conversation.reports == [.udpSilent])
    #expect(conversation.end == nil)
  }

  @Test func aCameraThatHasTooManyClientsAllTheSameIsLeft() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.udp, .status(453)]], over: .automatic)
    conversation.isUDPBlocked = true
    conversation.run(milliseconds: 60_000)
    #expect(
      conversation.end == .failed(.refused(method: "SETUP", status: 453, reason: "No")))
    #expect(conversation.milliseconds == 5000)
    #expect(conversation.count(of: "SETUP") == 3)
  }

  @Test func aFirewallThatLetsNothingThroughIsFoundOutInThreeSeconds() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.udp, .tcp]], over: .automatic)
    conversation.isUDPBlocked = true
    conversation.run(milliseconds: 60_000)
    #expect(
      conversation.transcript.dropFirst(9).prefix(9) == [
        "close ports", "TEARDOWN rtsp://camera/live", "connect rtsp://camera/live",
        // Hikvision cameras need a DESCRIBE in the new connection; the description is handed on
        // once.
        "DESCRIBE rtsp://camera/live", "SETUP rtsp://camera/live/track1",
        "PLAY rtsp://camera/live", "playing", "GET_PARAMETER rtsp://camera/live",
      ])
    #expect(conversation.times[4] == 3000)
    #expect(conversation.reports == [.udpSilent])
    #expect(conversation.end == nil)
    #expect(conversation.values(of: "Session", in: "SETUP") == ["-", "-"])
  }

  @Test func aStreamThatComesNeitherWayIsGivenUp() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.udp, .tcp]], over: .automatic, packetEvery: nil)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.noMedia(seconds: 5, isOverUDP: false)))
    #expect(conversation.milliseconds == 8000)
    #expect(conversation.count(of: "SETUP") == 2)
    #expect(conversation.methods.last == "TEARDOWN")
  }

  @Test func aStreamThatStopsDoesNotGoBackToAnything() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.udp]], over: .automatic)
    conversation.run()
    conversation.isUDPBlocked = true
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.mediaStopped(seconds: 5)))
    #expect(conversation.count(of: "SETUP") == 1)
  }

  @Test func whoWantsUDPGetsNothingElse() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.status(461)]], over: .udp)
    conversation.run()
    #expect(conversation.end == .failed(.deliveryRefused))
    conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.udp]], over: .udp, packetEvery: nil)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.noMedia(seconds: 5, isOverUDP: true)))
  }

  @Test func aServerThatAnswersWithChannelsIsFollowed() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.tcp]], over: .automatic)
    conversation.run(milliseconds: 20_000)
    #expect(
      conversation.transcript.dropFirst(4) == [
        "open 0", "SETUP rtsp://camera/live/track1", "close ports", "PLAY rtsp://camera/live",
        "playing",
      ])
    #expect(conversation.session.assignedChannels == [0, 1])
    #expect(conversation.reports == [.otherDelivery])
    #expect(conversation.end == nil)
  }

  @Test func withoutFreePortsTheConnectionIsUsed() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.tcp]], over: .automatic)
    conversation.hasNoPorts = true
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.reports == [.portsUnavailable])
    conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.udp]], over: .udp)
    conversation.hasNoPorts = true
    conversation.run()
    #expect(conversation.end == .notConnected)
  }

  @Test func devicesThatWantAudioSetUpGetItOverUDP() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.audioAndVideo], "SETUP": [.udp]], over: .udp
    ) { $0.setsUpEverything = true }
    conversation.run()
    #expect(
      conversation.values(of: "Transport", in: "SETUP") == [
        "RTP/AVP;unicast;client_port=5002-5003", "RTP/AVP;unicast;client_port=5000-5001",
      ])
  }

  private static let retransmissionSession = Reply.description(
    "a=group:FID m r", "m=audio 0 RTP/AVP 0", "a=control:track1", "m=video 0 RTP/AVPF 96",
    "a=rtpmap:96 H264/90000", "a=control:track2", "a=mid:m", "m=video 0 RTP/AVPF 97",
    "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=control:track3", "a=mid:r")

  @Test func aSessionOfRetransmissionsIsSetUpBehindItsMedia() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [Self.retransmissionSession], "SETUP": [.udp]], over: .udp
    ) { $0.selection = .firstVideo }
    conversation.run()
    #expect(conversation.session.setups.selected?.media == 1)
    #expect(conversation.values(of: "Transport", in: "SETUP").count == 2)
  }

  @Test func orNotWhereTheServerRefusesThat() throws {
    var conversation = try Conversation(
      ["DESCRIBE": [Self.retransmissionSession], "SETUP": [.udp, .status(461)]], over: .udp)
    conversation.run()
    #expect(conversation.count(of: "PLAY") == 1)
    #expect(conversation.end == nil)
  }

  /// It is optional: the media comes without it.
  @Test(
    "a session of retransmissions that is answered strangely",
    arguments: [
      "RTP/AVPF/TCP;unicast;interleaved=0-1", "RTP/AVPF;multicast;destination=203.0.113.9",
    ])
  func strangeAnswer(transport: String) throws {
    var conversation = try Conversation(
      ["DESCRIBE": [Self.retransmissionSession], "SETUP": [.udp, .setUp(transport)]],
      over: .udp)
    conversation.run()
    #expect(conversation.count(of: "PLAY") == 1)
    #expect(!conversation.transcript.contains("close ports"))
    #expect(conversation.end == nil)
  }

  @Test func orForWhichThereAreNoPorts() throws {
    for lowerTransport in [RTSPConfiguration.LowerTransport.udp, .automatic] {
      var conversation = try Conversation(
        ["DESCRIBE": [Self.retransmissionSession], "SETUP": [.udp]], over: lowerTransport
      ) { $0.selection = .firstVideo }
      conversation.mediaWithoutPorts = [2]
      conversation.run()
      #expect(conversation.count(of: "SETUP") == 1)
      #expect(conversation.transcript.last == "playing")
    }
  }

  @Test func orThatHasNoGroup() throws {
    var conversation = try Conversation(
      [
        "DESCRIBE": [Self.retransmissionSession],
        "SETUP": [
          .setUp("RTP/AVPF;multicast;destination=239.4.5.6;port=7000-7001"),
          .setUp("RTP/AVPF;multicast"),
        ],
      ], over: .multicast)
    conversation.run()
    #expect(conversation.count(of: "PLAY") == 1)
    #expect(conversation.end == nil)
  }

  @Test func channelsThatAreTheMediasStayTheMedias() throws {
    var conversation = try Conversation([
      "DESCRIBE": [Self.retransmissionSession],
      "SETUP": [.setUp("RTP/AVPF/TCP;interleaved=0-1"), .setUp("RTP/AVPF/TCP;interleaved=0-1")],
    ]) { $0.selection = .firstVideo }
    conversation.run()
    let now = Instant(nanoseconds: 0)
    #expect(
      (0..<2).map { conversation.session.route(channel: $0, at: now) } == [
        .deliver(.media), .deliver(.control),
      ])
  }

  @Test func inTheConnectionItHasChannelsOfItsOwn() throws {
    var conversation = try Conversation(
      [
        "DESCRIBE": [Self.retransmissionSession],
        "SETUP": [.setUp("RTP/AVPF/TCP;interleaved=0-1"), .setUp("RTP/AVPF/TCP;interleaved=2-3")],
      ]) { $0.selection = .firstVideo }
    conversation.run()
    let now = Instant(nanoseconds: 0)
    #expect(
      (0..<5).map { conversation.session.route(channel: $0, at: now) } == [
        .deliver(.media), .deliver(.control), .deliver(.retransmission), .unwanted, .unassigned,
      ])
    #expect(conversation.session.feedbackChannel(ofTrack: 0) == 1)
  }

  /// Recorders refuse a stream of sound that is described, or the second stream over UDP.
  @Test(
    "a stream beside the video that cannot be set up",
    arguments: [
      .status(461), .status(404), .status(401), .status(500), .setUp("RTP/AVP/TCP;interleaved=2-3"),
    ] as [Reply])
  func soundIsLeftOut(reply: Reply) throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.audioAndVideo], "SETUP": [.udp, reply]], over: .udp)
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(
      conversation.reports.contains { report in
        if case .streamLeftOut(media: 0, _) = report { true } else { false }
      })
    #expect(conversation.end == nil)
  }

  @Test(
    "a stream beside the video whose SETUP has no answer costs no video",
    arguments: [.silence, .close] as [Reply],
    [.udp, .tcp, .automatic] as [RTSPConfiguration.LowerTransport])
  func soundIsNotAnswered(
    reply: Reply, over lowerTransport: RTSPConfiguration.LowerTransport
  ) throws {
    let video: Reply = lowerTransport == .tcp ? .tcp : .udp
    var conversation = try Conversation(
      ["DESCRIBE": [.audioAndVideo], "SETUP": [video, reply, video]], over: lowerTransport)
    conversation.run(milliseconds: 20_000)
    #expect(conversation.transcript.last == "playing")
    #expect(
      conversation.requests.filter { $0.method == "SETUP" }.map(\.uri) == [
        "rtsp://camera/live/track2", "rtsp://camera/live/track1", "rtsp://camera/live/track2",
      ])
    let transports = conversation.values(of: "Transport", in: "SETUP")
    #expect(transports.first == transports.last)
    #expect(conversation.reports.contains(.streamLeftOut(media: 0, status: nil)))
    #expect(conversation.count(of: "TEARDOWN") == (reply.closes ? 0 : 1))
    #expect(conversation.end == nil)
  }

  // MARK: Multicast

  private static let group = Reply.description(
    "c=IN IP4 232.1.2.3/32", "a=source-filter: incl IN IP4 232.1.2.3 198.51.100.7",
    "m=video 5004 RTP/AVP 96", "a=control:track1")

  @Test(
    arguments: [
      (
        "RTP/AVP;multicast;destination=239.4.5.6;port=7000-7001;ttl=16",
        "join 239.4.5.6:7000"
      ),
      ("RTP/AVP;multicast", "join 232.1.2.3:5004 from 198.51.100.7"),
      (
        "RTP/AVP;multicast;destination=232.1.2.3;port=7000-7001;source=203.0.113.9",
        "join 232.1.2.3:7000 from 198.51.100.7"
      ),
      ("RTP/AVP;multicast;destination=ff3e::1234;port=7000-7001", "join ff3e::1234:7000"),
    ]
  )
  func theGroupOfTheAnswerIsJoined(transport: String, expected: String) throws {
    var conversation = try Conversation(
      ["DESCRIBE": [Self.group], "SETUP": [.setUp(transport)]], over: .multicast)
    conversation.run()
    #expect(conversation.values(of: "Transport", in: "SETUP") == ["RTP/AVP;multicast"])
    #expect(
      conversation.transcript.suffix(3) == [expected, "PLAY rtsp://camera/live", "playing"])
  }

  @Test(
    arguments: [
      "RTP/AVP;multicast;destination=203.0.113.9;port=7000-7001",
      "RTP/AVP;multicast;destination=127.0.0.1;port=7000-7001",
      "RTP/AVP;multicast;destination=evil.example;port=7000-7001",
      "RTP/AVP;multicast;destination=;port=7000",
    ]
  )
  func whatIsNoGroupIsNotJoined(transport: String) throws {
    var conversation = try Conversation(
      ["DESCRIBE": [.oneVideo], "SETUP": [.setUp(transport)]], over: .multicast)
    conversation.run()
    #expect(conversation.end == .failed(.deliveryRefused))
    #expect(!conversation.transcript.contains { $0.hasPrefix("join") })
  }
}

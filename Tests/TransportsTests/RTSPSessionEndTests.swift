import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

struct RTSPSessionEndTests {
  private static let script: Conversation.Script = ["DESCRIBE": [.oneVideo], "SETUP": [.tcp]]

  // MARK: Servers that say nothing

  @Test func anAddressWhereNobodyAnswersIsGivenUpAfterTenSeconds() throws {
    var conversation = try Conversation([:])
    conversation.isBlackHole = true
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.connectTimedOut(seconds: 10)))
    #expect(conversation.milliseconds == 10_000)
  }

  @Test func aConnectionThatIsRefusedIsTheShellsToExplain() throws {
    var conversation = try Conversation([:])
    conversation.isUnreachable = true
    conversation.run()
    #expect(conversation.end == .notConnected)
  }

  @Test(arguments: ["OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
  func aServerThatStopsAnsweringIsGivenUpAfterTenSeconds(method: String) throws {
    var conversation = try Conversation(
      Self.script.merging([method: [.silence]]) { _, silence in silence }, packetEvery: nil)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.noResponse(method: method, seconds: 10)))
    #expect(conversation.milliseconds == 10_000)
    #expect((conversation.methods.last == "TEARDOWN") == (method == "PLAY"))
  }

  /// Axis P1346 answers after up to 30 s; who says how long to wait means answers too.
  @Test(arguments: ["OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
  func aServerThatAnswersLateIsWaitedForAsLongAsWasSaid(method: String) throws {
    var configuration = RTSPConfiguration()
    configuration.lowerTransport = .tcp
    var conversation = try Conversation(
      Self.script.merging([method: [.silence]]) { _, silence in silence }, packetEvery: nil)
    conversation.session = RTSPSession(
      configuration: configuration, url: try ServerURL(parsing: "rtsp://camera/live"),
      credentials: nil, silence: .seconds(40), randomness: KnownNumbers.counting(from: 1),
      at: conversation.now)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.noResponse(method: method, seconds: 40)))
    #expect(conversation.milliseconds == 40_000)
  }

  /// A camera that begins 6 s after PLAY, or has a picture every 6 s, would never be received.
  @Test func whatWasGivenUpTooSoonIsWaitedForLonger() throws {
    let connections: [(impatience: Int?, limit: Int64)] = [
      (1, 10), (1, 20), (nil, 20), (1, 40), (1, 40), (0, 5), (nil, 5), (1, 10),
    ]
    var former = TransportCounters()
    for (index, connection) in connections.enumerated() {
      var counters = TransportCounters()
      counters.rtsp.impatience = connection.impatience
      former = counters.added(to: former)
      var options = TransportOptions()
      TransportKind.rtsp.learn(&options, former)
      let limit = options.rtspInEffect.patient(.seconds(5))
      #expect(limit == .seconds(connection.limit), "\(index)")
      options.silence = .after(.seconds(7))
      #expect(options.rtspInEffect.patient(.seconds(7)) == .seconds(7))
    }
  }

  /// What was learnt is for streams that begin late or have few packets.
  @Test(arguments: [(40, 5), (6000, 40)] as [(Int64, Int)])
  func aStreamThatPlaysSteadilyIsMissedAsSoonAsEver(packetEvery: Int64, seconds: Int) throws {
    var conversation = try Conversation(Self.script, packetEvery: packetEvery) {
      $0.impatience = 3
    }
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == nil)
    conversation.stopPackets()
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.mediaStopped(seconds: seconds)))
  }

  @Test func anEndTellsWhetherItCameTooSoon() throws {
    var silent = try Conversation(Self.script, packetEvery: nil)
    silent.run(milliseconds: 60_000)
    #expect(silent.session.wasImpatient == true)
    var rare = try Conversation(Self.script, packetEvery: 6000)
    rare.run(milliseconds: 60_000)
    #expect(rare.session.wasImpatient == true)
    var steady = try Conversation(Self.script)
    steady.run(milliseconds: 60_000)
    #expect(steady.session.wasImpatient == nil)
    steady.stopPackets()
    steady.run(milliseconds: 60_000)
    #expect(steady.session.wasImpatient == false)
    var refused = try Conversation(["DESCRIBE": [.status(404)]])
    refused.run()
    #expect(refused.session.wasImpatient == nil)
    // A camera that reboots says nothing of its patience.
    var away = try Conversation([:])
    away.isBlackHole = true
    away.run(milliseconds: 60_000)
    #expect(away.session.wasImpatient == nil)
  }

  /// The media has come since SETUP; the answer to PLAY comes when the stream has begun.
  @Test func aServerThatSendsAndAnswersPlayLateIsPlayed() throws {
    var conversation = try Conversation(
      Self.script.merging(["PLAY": [.silence]]) { _, silence in silence })
    for _ in 0..<120 {
      conversation.run(milliseconds: 100)
      _ = conversation.session.route(channel: 0, at: conversation.now)
    }
    #expect(conversation.end == nil)
    #expect(conversation.transcript.last == "playing")
    let play = try #require(conversation.requests.last)
    conversation.session.receive(Reply.ok.response(to: play), at: conversation.now)
    conversation.run(milliseconds: 30_000)
    #expect(conversation.reports == [.unexpectedResponse])
    #expect(conversation.methods.suffix(2) == ["PLAY", "GET_PARAMETER"])
    conversation.stopPackets()
    conversation.run(milliseconds: 10_000)
    #expect(conversation.end == .failed(.mediaStopped(seconds: 5)))
  }

  @Test func aStreamThatNeverBeginsIsGivenUpAfterFiveSeconds() throws {
    var conversation = try Conversation(Self.script, packetEvery: nil)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.noMedia(seconds: 5, isOverUDP: false)))
    #expect(conversation.milliseconds == 5000)
    #expect(conversation.methods.last == "TEARDOWN")
  }

  @Test func aCameraThatDiesWithoutAWordIsNoticedAfterFiveSeconds() throws {
    var conversation = try Conversation(Self.script)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == nil)
    conversation.stopPackets()
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .failed(.mediaStopped(seconds: 5)))
    #expect((64_900...65_000).contains(conversation.milliseconds))
  }

  /// A slow disk or loop of ours is no silence of the server's.
  @Test func whatIsNotReadIsNotMissed() throws {
    var conversation = try Conversation(Self.script)
    conversation.run(milliseconds: 1000)
    conversation.stopPackets()
    conversation.session.hold(true, at: conversation.now)
    conversation.run(milliseconds: 20_000)
    #expect(conversation.end == nil)
    conversation.session.hold(false, at: conversation.now)
    conversation.run(milliseconds: 4900)
    #expect(conversation.end == nil)
    conversation.run(milliseconds: 200)
    #expect(conversation.end == .failed(.mediaStopped(seconds: 5)))
  }

  @Test func anotherStreamThatGoesOnIsNotTheOneThatIsPlayed() throws {
    var conversation = try Conversation([
      "DESCRIBE": [.audioAndVideo],
      "SETUP": [.tcp, .setUp("RTP/AVP/TCP;unicast;interleaved=2-3")],
    ]) { $0.setsUpEverything = true }
    conversation.packetEvery = nil
    conversation.run(milliseconds: 0)
    for _ in 0..<100 where conversation.end == nil {
      _ = conversation.session.route(channel: 2, at: conversation.now)
      _ = conversation.session.route(channel: 1, at: conversation.now)
      conversation.run(milliseconds: 100)
    }
    #expect(conversation.end == .failed(.noMedia(seconds: 5, isOverUDP: false)))
  }

  @Test func whoIsWillingToWaitWaits() throws {
    var configuration = RTSPConfiguration()
    configuration.lowerTransport = .tcp
    var conversation = try Conversation(Self.script, packetEvery: nil)
    conversation.session = RTSPSession(
      configuration: configuration, url: try ServerURL(parsing: "rtsp://camera/live"),
      credentials: nil, silence: nil, randomness: KnownNumbers.counting(from: 1),
      at: conversation.now)
    conversation.run(milliseconds: 3_600_000)
    #expect(conversation.end == nil)
  }

  @Test func aMachineThatSleptFindsOneEndAndNotManyTimers() throws {
    var conversation = try Conversation(Self.script)
    conversation.run()
    conversation.now = conversation.now.advanced(by: .seconds(3600))
    conversation.session.wake(at: conversation.now)
    conversation.execute()
    #expect(conversation.end == .failed(.mediaStopped(seconds: 5)))
    #expect(conversation.count(of: "GET_PARAMETER") == 0)
    let deadline = conversation.session.deadline
    #expect(deadline == nil)
  }

  // MARK: Servers that hang up

  @Test(arguments: ["SETUP", "PLAY"])
  func aServerThatHangsUpInTheMiddleEndsTheSession(method: String) throws {
    var conversation = try Conversation(
      Self.script.merging([method: [.close]]) { _, close in close })
    conversation.run()
    if method == "PLAY" {
      #expect(conversation.end == .failed(.connectionClosed))
      #expect(conversation.count(of: "PLAY") == 1)
    } else {
      #expect(conversation.end == .failed(.connectionClosed))
      #expect(conversation.transcript.count { $0.hasPrefix("connect") } == 3)
    }
  }

  @Test func aServerThatHangsUpWithoutAWordIsNotAskedAgain() throws {
    var conversation = try Conversation(["OPTIONS": [.close]])
    conversation.run()
    #expect(conversation.end == .failed(.connectionClosed))
    #expect(conversation.transcript.count { $0.hasPrefix("connect") } == 1)
  }

  @Test func aServerThatHangsUpAfterOptionsIsAskedForTheDescription() throws {
    var conversation = try Conversation(
      Self.script.merging(["OPTIONS": [.ok.closing()]]) { _, close in close })
    conversation.run()
    #expect(conversation.transcript.last == "playing")
    #expect(conversation.count(of: "OPTIONS") == 1)
    #expect(conversation.reports == [.reconnected])
  }

  @Test func aServerThatHangsUpWhilePlayingEndsTheSessionAtOnce() throws {
    var conversation = try Conversation(Self.script)
    conversation.run()
    conversation.session.connectionClosed(at: conversation.now)
    conversation.run()
    #expect(conversation.end == .failed(.brokenOff))
    #expect(conversation.count(of: "TEARDOWN") == 0)
  }

  @Test func inputThatIsNoRTSPEndsTheSessionInOrder() throws {
    var conversation = try Conversation(Self.script)
    conversation.run()
    conversation.session.inputFailed(.framingLost(skipped: 65_536), at: conversation.now)
    conversation.run()
    #expect(conversation.end == .failed(.framingLost(skipped: 65_536)))
    #expect(conversation.methods.last == "TEARDOWN")
  }

  // MARK: Ending it

  @Test(
    arguments: [
      (Reply.ok, Int64(0)), (.status(454), 0), (.close, 0), (.silence, 1000),
    ]
  )
  func teardownTakesASecondAtMost(reply: Reply, expected: Int64) throws {
    var conversation = try Conversation(
      Self.script.merging(["TEARDOWN": [reply]]) { _, reply in reply })
    conversation.run()
    let start = conversation.milliseconds
    conversation.session.teardown(at: conversation.now)
    conversation.session.teardown(at: conversation.now)
    conversation.run(milliseconds: 60_000)
    #expect(conversation.end == .finished)
    #expect(conversation.milliseconds - start == expected)
    #expect(conversation.count(of: "TEARDOWN") == 1)
  }

  @Test(arguments: ["OPTIONS", "DESCRIBE", "SETUP"])
  func teardownBeforeAnythingIsSetUpEndsAtOnce(method: String) throws {
    var conversation = try Conversation(
      Self.script.merging([method: [.silence]]) { _, silence in silence })
    conversation.run(milliseconds: 1)
    conversation.session.teardown(at: conversation.now)
    conversation.execute()
    #expect(conversation.end == .finished)
    #expect(conversation.count(of: "TEARDOWN") == 0)
  }

  @Test func nothingFollowsTheEnd() throws {
    var conversation = try Conversation(Self.script)
    conversation.run()
    conversation.session.connectionClosed(at: conversation.now)
    conversation.run()
    let count = conversation.transcript.count
    let now = conversation.now.advanced(by: .seconds(100))
    conversation.session.wake(at: now)
    conversation.session.connectionReached(isInside: true)
    conversation.session.connectionOpened(at: now)
    conversation.session.connectionFailed(at: now)
    conversation.session.connectionClosed(at: now)
    conversation.session.receive(RTSPResponse(status: 200, reason: ""), at: now)
    conversation.session.receive(RTSPRequest(method: "OPTIONS", uri: "*"), at: now)
    conversation.session.inputFailed(.framingLost(skipped: 1), at: now)
    conversation.session.portsOpened(.init(media: 1, control: 2), forMedia: 0, at: now)
    conversation.session.portsFailed(forMedia: 0, at: now)
    conversation.session.teardown(at: now)
    conversation.execute()
    #expect(conversation.transcript.count == count)
    let deadline = conversation.session.deadline
    #expect(deadline == nil)
  }
}

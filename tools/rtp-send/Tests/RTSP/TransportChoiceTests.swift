import NIOCore
import NIOEmbedded
import Testing

@testable import RTPSend

/// Which way the tracks of a session go (RFC 2326 §12.39).
@Suite struct TransportChoiceTests {
  static let ways = [
    "RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP;unicast;client_port=5000-5001",
    "RTP/AVP;multicast",
  ]
  let live = "rtsp://192.0.2.1:8554/live"

  private func session(_ response: String) -> String {
    String((Conversation.header("Session", in: response) ?? "").prefix { $0 != ";" })
  }

  @Test(arguments: ways, ways) func allTracksOfASessionGoTheSameWay(first: String, second: String) {
    var conversation = Conversation()
    let answer = conversation.ask("SETUP", live + "/trackID=1", ["Transport: \(first)"])
    #expect(Conversation.status(answer) == 200)
    let id = session(answer)
    let other = conversation.ask(
      "SETUP", live + "/trackID=2", ["Session: \(id)", "Transport: \(second)"])
    #expect(Conversation.status(other) == (first == second ? 200 : 461))
    // It can be played without the track that was refused.
    #expect(Conversation.status(conversation.ask("PLAY", live, ["Session: \(id)"])) == 200)
  }

  @Test func portsThatAreTakenAreNoReasonForAnotherWay() {
    var conversation = Conversation()
    conversation.outcomes = [.ready(ssrc: 1), .taken]
    let answer = conversation.ask("SETUP", live + "/trackID=1", ["Transport: \(Self.ways[1])"])
    let other = conversation.ask(
      "SETUP", live + "/trackID=2",
      ["Session: \(session(answer))", "Transport: \(Self.ways[1]),\(Self.ways[0])"])
    #expect(Conversation.status(other) == 461)
  }

  @Test func aSingleTrackMayGoAnotherWayThanBefore() {
    var conversation = Conversation()
    let answer = conversation.ask("SETUP", live + "/trackID=1", ["Transport: \(Self.ways[1])"])
    let again = conversation.ask(
      "SETUP", live + "/trackID=1",
      ["Session: \(session(answer))", "Transport: \(Self.ways[0])"])
    #expect(Conversation.status(again) == 200)
  }

  @Test(arguments: ways) func whatTLSDoesNotHideIsRefused(way: String) {
    var conversation = Conversation { configuration in
      configuration.isSecure = true
      for index in configuration.streams.indices {
        configuration.streams[index].takesDatagrams = false
      }
    }
    let answer = conversation.ask("SETUP", live + "/trackID=1", ["Transport: \(way)"])
    #expect(Conversation.status(answer) == (way == Self.ways[0] ? 200 : 461))
  }

  /// `rtsps://` without a key has nothing that hides datagrams.
  @Test(
    arguments: [
      (false, nil, true), (true, nil, false), (true, "1 AES_CM_128_HMAC_SHA1_80 inline:x", true),
    ] as [(Bool, String?, Bool)])
  func datagramsNeedAKeyWhereTLSIsAskedFor(
    isSecure: Bool, crypto: String?, takesDatagrams: Bool
  ) throws {
    let tests = RTSPServingTests()
    var stream = try tests.stream("live", tests.pattern)
    stream.crypto = crypto
    var configuration = RTSPServerConfiguration(streams: [stream], host: "127.0.0.1", port: 0)
    if isSecure {
      configuration.identity = RTSPServerConfiguration.Identity(certificates: "", key: "")
    }
    let loop = EmbeddedEventLoop()
    let promise = loop.makePromise(of: SendReport.self)
    defer { promise.succeed(SendReport()) }
    let server = RTSPServing(configuration, on: loop, report: promise) { _ in }
    let streams = server.sessionConfiguration(at: nil, nil).streams
    #expect(streams.map(\.takesDatagrams) == [takesDatagrams])
  }
}

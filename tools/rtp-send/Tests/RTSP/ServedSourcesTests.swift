import Bitstream
import Foundation
import Impairment
import NIOCore
import RTPWire
import TestSupport
import Testing
import Transports

@testable import RTPSend

/// What an RTSP server says and sends of sources that begin late, change, or begin again.
@Suite(.serialized)
struct ServedSourcesTests {
  typealias Viewer = RTSPServingTests.Viewer

  private let tests = RTSPServingTests()

  /// The session description that a client is given.
  private func description(_ url: String, by viewer: Viewer) async throws -> String {
    let start = viewer.count
    viewer.request("DESCRIBE", url)
    return try await eventualValue(of: "a description") {
      let text = String(decoding: viewer.bytes.dropFirst(start), as: UTF8.self)
      guard let end = text.firstRange(of: "\r\n\r\n"),
        let length = Conversation.header("Content-Length", in: text).flatMap({ Int($0) }),
        text[end.upperBound...].utf8.count >= length
      else { return nil }
      return String(text[end.upperBound...])
    }
  }

  /// The width of the pictures that a description says.
  private func width(_ description: String) throws -> Int {
    let match = try #require(description.firstMatch(of: #/sprop-parameter-sets=([^,;\r]+)/#))
    let set = try #require(Data(base64Encoded: String(match.1)))
    return try #require(Codec.h264.format(of: ByteBuffer(bytes: set))).width
  }

  @Test func aDescriptionHasTheParameterSetsInForce() async throws {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height) = (256, 144)
    pattern.plan = try PlanText.parse("100ms size 320x192")
    let (sender, base) = try await tests.serve([try tests.stream("live", .pattern(pattern))])
    let (watching, asking) = (
      try await Viewer(sender.localAddress), try await Viewer(sender.localAddress)
    )
    #expect(try width(try await description(base + "live", by: asking)) == 256)
    _ = try await watching.play(base + "live")
    try await eventually("the size has changed in the description too") {
      try width(try await description(base + "live", by: asking)) == 320
    }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    for viewer in [watching, asking] { await viewer.close() }
  }

  // MARK: Sources that begin late

  /// A camera that is still to say what it has.
  private func camera(_ source: LiveStream) -> ServedStream {
    let tests = tests
    return ServedStream(name: "camera", trackCount: 1, awaiting: source) {
      let recipe = SourceRecipe.live(source)
      let feed = PacketFeed.Configuration(
        recipe: recipe,
        stream: RTPStream.Configuration(ssrc: 6, initialSequence: 1, initialTimestamp: 0))
      return try tests.content(
        SenderConfiguration(feed: feed, destination: .listen(host: "", port: 0)), recipe)
    }
  }

  @Test func onlyItsOwnClientsWaitForASource() async throws {
    let source = LiveStream(name: "camera", for: .many, isLive: true, wanted: [.video])
    let (sender, base) = try await tests.serve([
      camera(source), try tests.stream("live", tests.pattern),
    ])
    let (early, other) = (
      try await Viewer(sender.localAddress), try await Viewer(sender.localAddress)
    )
    early.request("DESCRIBE", base + "camera")
    let refused = try await other.ask(
      "SETUP", base + "camera", ["Transport: RTP/AVP/TCP;unicast"])
    #expect(Conversation.status(refused) == 503)
    _ = try await other.play(base + "live")
    try await eventually { try other.packets().count > 10 }
    #expect(early.count == 0)
    source.open(
      LiveStream.Contents(
        video: .init(
          codec: .h264, parameterSets: [.sequence: [ByteBuffer(bytes: [0x67, 66, 0, 30])]])))
    try await eventually("the description has come") {
      String(decoding: early.bytes, as: UTF8.self).contains("profile-level-id=42001E")
    }
    let viewer = try await Viewer(sender.localAddress)
    _ = try await viewer.play(base + "camera")
    #expect(source.append(LiveStreamTests.unit(0, isKey: true)))
    try await eventually { try !viewer.packets().isEmpty }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    for viewer in [early, other, viewer] { await viewer.close() }
  }

  @Test func aSourceThatFailsIsUnavailableAndTheOthersGoOn() async throws {
    let source = LiveStream(name: "camera", for: .many, isLive: true, wanted: [.video])
    let events = Record<SenderEvent>()
    let (sender, base) = try await tests.serve(
      [camera(source), try tests.stream("live", tests.pattern)], events)
    let (early, late) = (
      try await Viewer(sender.localAddress), try await Viewer(sender.localAddress)
    )
    early.request("DESCRIBE", base + "camera")
    #expect(try await !description(base + "live", by: late).isEmpty)
    source.finish(.noVideo(path: "camera"))
    try await eventually("the waiting client hears of it") {
      String(decoding: early.bytes, as: UTF8.self).hasPrefix("RTSP/1.0 503 ")
    }
    let answer = try await late.ask("DESCRIBE", base + "camera")
    #expect(Conversation.status(answer) == 503)
    _ = try await late.play(base + "live")
    let failure = SendError.noVideo(path: "camera")
    #expect(events.elements.contains(.streamFailed(name: "camera", reason: "\(failure)")))
    sender.stop()
    await #expect(throws: failure) { try await withDeadline { try await sender.finished() } }
    for viewer in [early, late] { await viewer.close() }
  }

  @Test func aSingleSourceThatFailsEndsTheServer() async throws {
    let source = LiveStream(name: "camera", for: .many, isLive: true, wanted: [.video])
    let (sender, _) = try await tests.serve([camera(source)])
    source.finish(.noVideo(path: "camera"))
    await #expect(throws: SendError.noVideo(path: "camera")) {
      try await withDeadline { try await sender.finished() }
    }
  }

  // MARK: Runs under one key

  private static func key() throws -> SRTPKeyMaterial {
    let bytes = (0..<30).map { UInt8($0) }
    return try SRTPKeyMaterial(suite: .aesCM128SHA1Tag80, keyAndSalt: bytes.span.bytes)
  }

  /// What SETUP says of the source.
  private func source(_ url: String, by viewer: Viewer) async throws -> String {
    let setUp = try await viewer.ask("SETUP", url, ["Transport: RTP/AVP/TCP;unicast"])
    let match = try #require(setUp.firstMatch(of: #/ssrc=([0-9A-F]{8})/#), "\(setUp)")
    return String(match.1)
  }

  @Test(arguments: [true, false])
  func underAKeyNoTwoClientsOfAFileHaveOneSource(isProtected: Bool) async throws {
    var film = try tests.stream("film", tests.pattern)
    film.survey = FileSurvey(start: 0, duration: 60_000_000_000)
    film.keepsNumbers = true
    let key = try isProtected ? Self.key() : nil
    try RTSPServingTests.change(&film) { $0.key = key }
    let (sender, base) = try await tests.serve([film])
    var sources: [String] = []
    for _ in 0..<3 {
      let viewer = try await Viewer(sender.localAddress)
      sources.append(try await source(base + "film", by: viewer))
      await viewer.close()
    }
    #expect(Set(sources).count == (isProtected ? 3 : 1), "\(sources)")
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
  }

  @Test func whatIsLiveAndBeginsAgainHasAnotherSource() async throws {
    var live = try tests.stream("live", tests.pattern, speed: 10)
    live.keepsNumbers = true
    let key = try Self.key()
    try RTSPServingTests.change(&live) {
      $0.key = key
      $0.frameLimit = 5
    }
    let (sender, base) = try await tests.serve([live])
    let viewer = try await Viewer(sender.localAddress)
    let first = try await source(base + "live", by: viewer)
    viewer.request("PLAY", base + "live")
    try await eventually("it has ended") {
      let other = try await Viewer(sender.localAddress)
      let second = try await source(base + "live", by: other)
      await other.close()
      return second != first
    }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await viewer.close()
  }
}

import Outputs
import TestSupport
import Testing

@testable import JetStream

/// An output in a real server.
struct StreamPublisherTests {
  private static func figure(_ name: String, of lane: OutputLane) -> UInt64 {
    lane.figures.first { $0.name == name }?.value ?? 0
  }

  /// A server whose stream is for other subjects says at once that nobody takes messages.
  ///
  /// So does what is left of a cluster without a quorum.
  @Test func whatNobodyTakesIsSentAgainAfterARest() async throws {
    let server = try NATSServer()
    let peer = try NATSPeer(port: server.port)
    _ = try peer.request(
      "$JS.API.STREAM.CREATE.rtp_door", "{\"name\":\"rtp_door\",\"subjects\":[\"other\"]}")
    let start = ContinuousClock.now
    let format = try #require(OutputFormat.jetStream.first)
    let lane = try OutputLane(
      .init(target: .path("//127.0.0.1:\(server.port)/door"), format: format))
    // The second comes when nobody waits for sound any more.
    lane.write(PublicationTests.unit(1, [(5, 100, true)]))
    lane.write(PublicationTests.unit(40, [(1, 100, true)]))
    // It ends once everything is kept.
    let end = Task { await lane.finish(within: nil) }
    try await eventually("they are sent again") { Self.figure("resent", of: lane) > 0 }
    #expect(ContinuousClock.now - start >= .seconds(1))
    let changed = try peer.request(
      "$JS.API.STREAM.UPDATE.rtp_door", "{\"name\":\"rtp_door\",\"subjects\":[\"rtp.door.*\"]}")
    #expect(!String(decoding: changed, as: UTF8.self).contains("\"error\""))
    // A description and two pictures.
    try await eventually("they are kept") { try server.messages(of: "door") == 3 }
    #expect(try await withDeadline { await end.value.error == nil })
    #expect(Self.figure("acknowledged", of: lane) == 3)
    let resent = Self.figure("resent", of: lane)
    let seconds = UInt64(clamping: (ContinuousClock.now - start).components.seconds)
    #expect(resent <= seconds * 3)
  }
}

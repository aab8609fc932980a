import TestSupport
import Testing

@testable import JetStream

/// How much of a camera a real server keeps.
struct StreamLimitsTests {
  private static func apply(_ query: String, in server: NATSServer) throws {
    let address = try StreamAddress(parsing: server.url("door", query), known: StreamLimits.keys)
    let names = StreamNames(camera: "door")
    let context = try JetStreamContext(server.link())
    try StreamLimits(address).apply(to: names.stream, subjects: names.all, of: context)
  }

  private static func configuration(_ server: NATSServer) throws -> String {
    let answer = try NATSPeer(port: server.port).request("$JS.API.STREAM.INFO.rtp_door", "")
    return String(decoding: answer, as: UTF8.self)
  }

  @Test func aCameraThatIsThereIsKeptForLessThanItsRepetitionsWereKnown() throws {
    let server = try NATSServer()
    try Self.apply("", in: server)
    #expect(try Self.configuration(server).contains("\"max_age\":600000000000"))
    try Self.apply("?max-age=60s", in: server)
    let configuration = try Self.configuration(server)
    #expect(configuration.contains("\"max_age\":60000000000"))
    #expect(configuration.contains("\"duplicate_window\":60000000000"))
  }

  /// libnats takes names for granted where it writes a description again.
  @Test(arguments: [
    "{}", #"{"config":{"name":"rtp_door","mirror":{}}}"#,
    #"{"config":{"name":"rtp_door","sources":[{"name":"a","external":{}}]}}"#,
  ]) func aDescriptionWithoutNamesIsRefused(description: String) throws {
    let server = try NATSServer(jetStream: false)
    try NATSPeer(port: server.port).answer("$JS.API.STREAM.INFO.rtp_door", with: description)
    let error = #expect(throws: JetStreamError.self) {
      try Self.apply("?max-age=60s", in: server)
    }
    #expect(error?.name == "refused")
  }

  @Test func aStreamThatIsPlacedByTagsAloneIsChanged() throws {
    let server = try NATSServer(jetStream: false)
    try NATSPeer(port: server.port).answer(
      "$JS.API.STREAM.INFO.rtp_door",
      with: #"{"config":{"name":"rtp_door","placement":{"tags":["a"]}}}"#)
    let peer = try NATSPeer(port: server.port)
    try peer.listen(to: "$JS.API.STREAM.UPDATE.rtp_door")
    try NATSPeer(port: server.port).answer("$JS.API.STREAM.UPDATE.rtp_door", with: "{}")
    try Self.apply("?max-age=60s", in: server)
    #expect(try peer.next().payload.contains(#""tags":["a"]"#))
  }
}

import TestSupport
import Testing

@testable import JetStream

/// What a server says of requests.
struct JetStreamContextTests {
  @Test func onlyWhatStaysIsARefusal() throws {
    let server = try NATSServer(jetStream: false)
    let context = try JetStreamContext(server.link())
    let names = [
      // Others of the cluster are missing, or no room is left.
      10008: "unavailable", 10009: "unavailable", 10023: "unavailable", 10118: "unavailable",
      10119: "unavailable", 10039: "no_jetstream", 10059: "no_camera", 10052: "refused",
      10047: "refused",
    ]
    for (number, name) in names {
      let camera = "\(number)"
      try NATSPeer(port: server.port).answer(
        "$JS.API.STREAM.INFO.rtp_\(camera)", with: NATSPeer.failure(number, "words"))
      let error = #expect(throws: JetStreamError.self) {
        try context.newest(in: StreamNames(camera: camera), camera: camera, server: "h")
      }
      #expect(error?.name == name, "\(number)")
    }
  }
}

extension NATSPeer {
  /// What the first server of a cluster says until there are more.
  static let unavailable = failure(10008, "JetStream system temporarily unavailable")

  /// What a server says that does not do what it is asked.
  static func failure(_ number: Int, _ words: String) -> String {
    #"{"error":{"code":503,"err_code":\#(number),"description":"\#(words)"}}"#
  }
}

import Testing
import Transports

@testable import JetStream

/// Addresses in NATS, as people type them.
struct StreamAddressTests {
  @Test func anAddressHasAHostAPortAndACamera() throws {
    let address = try StreamAddress(parsing: "nats://[::1]:4333/door?since=5m", known: ["since"])
    #expect(address.host == "::1")
    #expect(address.endpoint == "[::1]:4333")
    #expect(address.name == "door")
    #expect(address.options == ["since": "5m"])
    #expect(!address.isSecure)
    let other = try StreamAddress(parsing: "nats+tls://nats.example/yard_2", known: [])
    #expect(other.port == 4222)
    #expect(other.isSecure)
    #expect(other.url == "tls://nats.example:4222")
  }

  @Test(arguments: [
    "nats://host", "nats://host/", "nats:///door", "nats://host:x/door", "nats://host:0/door",
    "nats://host/a.b", "nats://host/a*", "nats://host/a>", "nats://host/a b", "nats://host/\u{7}",
    "nats://host/door?since=5m", "http://host/door", "door",
    "nats://host/\(String(repeating: "a", count: 65))",
  ])
  func whatCannotBeMeantIsRefused(text: String) {
    #expect(throws: JetStreamError.self) { try StreamAddress(parsing: text, known: []) }
  }

  @Test(
    "what to check where nothing is published is said however the address is written",
    arguments: ["nats://host/door", "NATS://host/door", "nats+tls://host/door"])
  func silence(source: String) {
    let hints = TransportKind.jetStream.hints.filter { $0.occasion == .silence }
    #expect(hints.contains { $0.words(TransportHint.Situation(source: source)) != nil })
  }

  @Test func aPasswordIsNotRepeated() {
    let error = #expect(throws: JetStreamError.self) {
      try StreamAddress(parsing: "nats://me:secret@host/door", known: [])
    }
    #expect(error.map { "\($0)" }?.contains("NATS_PASSWORD") == true)
    #expect(error.map { "\($0)" }?.contains("secret") == false)
  }

  @Test func timesAndSizesHaveUnits() {
    #expect(StreamAddress.duration("5m") == .seconds(300))
    #expect(StreamAddress.duration("90") == .seconds(90))
    #expect(StreamAddress.bytes("2GiB") == 2 << 30)
    for text in ["", "m", "-5m", "5x", "99999999999999999999d", "0s"] {
      #expect(StreamAddress.duration(text) == nil, "\(text)")
    }
    for text in ["", "GiB", "9999999999999TiB", "-1", "1 GiB"] {
      #expect(StreamAddress.bytes(text) == nil, "\(text)")
    }
  }
}

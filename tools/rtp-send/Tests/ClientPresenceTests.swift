import NIOCore
import RTPSend
import RTPWire
import Testing

@Suite struct ClientPresenceTests {
  let first: SocketAddress
  let second: SocketAddress

  init() throws {
    first = try SocketAddress(ipAddress: "192.0.2.1", port: 1000)
    second = try SocketAddress(ipAddress: "192.0.2.1", port: 1001)
  }

  func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

  func presence() -> ClientPresence {
    ClientPresence(hello: Array("Hello".utf8), heartbeatInterval: .seconds(3))
  }

  @Test(arguments: ["", "hello", "Hello ", "Hell"]) func onlyTheHelloBegins(said: String) {
    var presence = presence()
    #expect(presence.receive(ByteBuffer(string: said), from: first, at: at(0)) == .notHello)
    #expect(presence.client == nil && presence.deadline == nil)
    #expect(presence.receive(ByteBuffer(string: "Hello"), from: first, at: at(1)) == .arrived)
    #expect(presence.client == first)
  }

  @Test func anythingFromTheClientIsAHeartbeat() {
    var presence = presence()
    _ = presence.receive(ByteBuffer(string: "Hello"), from: first, at: at(0))
    #expect(presence.deadline == at(9))
    #expect(presence.receive(ByteBuffer(bytes: [0x81, 201]), from: first, at: at(8)) == .heartbeat)
    #expect(presence.expire(at: at(16.9)) == nil)
    #expect(presence.expire(at: at(17)) == first)
    #expect(presence.expire(at: at(18)) == nil)
  }

  @Test func othersWaitUntilTheClientHasGone() {
    var presence = presence()
    _ = presence.receive(ByteBuffer(string: "Hello"), from: first, at: at(0))
    #expect(presence.receive(ByteBuffer(string: "Hello"), from: second, at: at(5)) == .busy)
    #expect(presence.receive(ByteBuffer(string: "x"), from: second, at: at(5)) == .notHello)
    #expect(presence.expire(at: at(9)) == first)
    #expect(presence.receive(ByteBuffer(string: "Hello"), from: second, at: at(10)) == .arrived)
  }
}

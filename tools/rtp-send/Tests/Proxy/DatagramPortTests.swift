import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RTPSend

/// The sockets of the proxy, where the system grants one and not the next.
@Suite struct DatagramPortTests {
  private let loop = MultiThreadedEventLoopGroup.singleton.next()

  /// The server's side of a session may have an address that this machine has lost.
  @Test func withoutTheSecondPairTheFirstIsClosed() async throws {
    let here = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
    let nowhere = try SocketAddress(ipAddress: "192.0.2.1", port: 0)
    // The event loop opens some of its own with the first use.
    let own = try await DatagramPort.openPair(here, on: loop).get()
    let before = DecoderProcesses.openDescriptors
    for _ in 0..<20 {
      await #expect(throws: SendError.self) {
        _ = try await DatagramPort.openPairs(here, nowhere, on: loop).get()
      }
    }
    try await loop.submit { own.value.forEach { $0.close() } }.get()
    try await eventually("they are closed") { DecoderProcesses.openDescriptors <= before }
  }

  @Test func withoutThePortAboveTheFirstIsClosed() async throws {
    let other = try await Client()
    let port = try #require(other.address.port)
    let below = try SocketAddress(ipAddress: "127.0.0.1", port: port - 1)
    let before = DecoderProcesses.openDescriptors
    for _ in 0..<20 {
      await #expect(throws: SendError.self) {
        _ = try await DatagramPort.openWithNext(below, on: loop).get()
      }
    }
    try await eventually("they are closed") { DecoderProcesses.openDescriptors <= before }
    await other.close()
  }
}

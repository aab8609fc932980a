import Foundation
import NIOCore
import Synchronization
import Testing
import TransportConformance

@testable import Transports

@Suite(.serialized) struct UDPConformanceTests {
  @Test(arguments: [true, false])
  func udpConforms(isClient: Bool) async {
    let report = await checkConformance(of: UDPSubject(isClient: isClient))
    #expect(report.isConforming, "\(report)")
  }

  @Test(arguments: [true, false])
  func udpConformsWrappedInSRTP(isClient: Bool) async {
    let report = await checkConformance(of: ProtectedSubject(UDPSubject(isClient: isClient)))
    #expect(report.isConforming, "\(report)")
  }
}

/// UDP with a hello server at the far end, or with a sender to a port that is listened on.
private struct UDPSubject: ConformanceSubject {
  let isClient: Bool

  var name: String { isClient ? "UDP, hello client" : "UDP, listener" }

  var carrier: Carrier {
    var carrier = Carrier.datagrams
    carrier.lacks[.description] = "nobody describes what comes to a port"
    carrier.lacks[.failure] = "a far end that is gone is the same as one that says nothing"
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    UDPFarEnd(try await DatagramPeer.open(), isClient: isClient)
  }
}

private final class UDPFarEnd: FarEnd {
  private let peer: DatagramPeer
  private let isClient: Bool
  private let transport = Mutex(Reference())

  private struct Reference { weak var transport: UDPTransport? }

  init(_ peer: DatagramPeer, isClient: Bool) {
    self.peer = peer
    self.isClient = isClient
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    let role: UDPTransport.Role =
      isClient
      ? .client(host: "127.0.0.1", port: peer.port) : .listener(.init(host: "127.0.0.1", port: 0))
    let made = UDPTransport(role: role, on: eventLoop)
    transport.withLock { $0.transport = made }
    return made
  }

  func send(_ packets: [ByteBuffer]) async throws {
    if isClient {
      return try await peer.send(packets, to: try await peer.first().port ?? 0)
    }
    // The transport may have been closed meanwhile.
    let made = transport.withLock { $0.transport }
    guard let port = try await made?.localAddress()?.port else { return }
    try await peer.send(packets, to: port)
  }

  var feedback: [ByteBuffer] { peer.feedback }

  func close() async { await peer.close() }
}

extension Carrier {
  /// UDP on one machine.
  static var datagrams: Carrier {
    var carrier = Carrier()
    carrier.packetSizes = 12...65_507
    // Linux counts a datagram's own bookkeeping too, and more than once.
    let granted = try? String(contentsOfFile: "/proc/sys/net/core/rmem_max", encoding: .utf8)
    let buffer = Int(granted?.trimmingCharacters(in: .newlines) ?? "") ?? 208 << 10
    carrier.burst = min(buffer / 4, 512 << 10)
    carrier.lacks = [
      .backPressure: "who sends datagrams waits for nobody",
      .orderlyEnd: "nothing in UDP says that there will be no more",
      .byteStream: "a datagram comes whole or not at all",
    ]
    return carrier
  }
}

extension UDPTransport {
  /// Where the transport receives, once it is open.
  fileprivate func localAddress() async throws -> SocketAddress? {
    guard let text = await counters().localAddress else { return nil }
    let (host, port) = try SourceAddress.endpoint(text[...])
    return try host.map { try SocketAddress(ipAddress: $0, port: port) }
  }
}

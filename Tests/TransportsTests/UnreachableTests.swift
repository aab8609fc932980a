import Glibc
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// What a router or firewall on the way can answer instead of the server (RFC 792, RFC 1812).
struct UnreachableTests {
  private static let mayInject: Bool = {
    let descriptor = socket(AF_INET, CInt(SOCK_RAW.rawValue), CInt(IPPROTO_ICMP))
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }()

  /// Host and network unreachable, fragmentation needed, and a firewall's "prohibited": SwiftNIO's
  /// own handling of all of them but port unreachable (3) is a trap.
  @Test(
    .enabled(if: mayInject, "raw sockets need a privilege"),
    arguments: [0, 1, 2, 3, 4, 9, 10, 13] as [UInt8])
  func anErrorFromTheNetworkNeverEndsTheStream(code: UInt8) async throws {
    let server = try await FarEnd()
    let transport = UDPTransport(
      role: .client(host: "127.0.0.1", port: server.port),
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let origin = try await server.received.first(1)[0].origin
    let port = try #require(origin.port)
    // Before media, while the transport watches …
    for _ in 0..<5 { inject(code, from: port, to: server.port) }
    if code == 3 { try await transport.counters { $0.refused == 5 } }
    // … and while it reads.
    for number in 0..<20 as Range<UInt16> {
      try await server.send(rtp(number), to: origin)
      _ = try await sink.datagrams.first(Int(number) + 1)
      inject(code, from: port, to: server.port)
    }
    #expect(sink.ends.elements.isEmpty)
    #expect(await transport.counters().delivered == 20)
    transport.close()
    try await server.close()
  }

  /// Sends this machine the report that a datagram between two of its ports was not delivered.
  private func inject(_ code: UInt8, from source: Int, to destination: Int) {
    var original = ByteBuffer(bytes: [0x45, 0, 0, 33, 0, 1, 0, 0, 64, 17, 0, 0])
    original.writeBytes([127, 0, 0, 1, 127, 0, 0, 1])
    original.writeInteger(UInt16(truncatingIfNeeded: source))
    original.writeInteger(UInt16(truncatingIfNeeded: destination))
    original.writeBytes([0, 13, 0, 0] + Array("Hello".utf8) + [0])
    // The next hop takes nearly everything: the kernel would remember less for ten minutes, and
    // have all programs on loopback send fragments.
    var message = ByteBuffer(bytes: [3, code, 0, 0, 0, 0, 0xFF, 0xFF])
    message.writeBuffer(&original)
    var sum: UInt32 = 0
    for index in stride(from: 0, to: message.readableBytes, by: 2) {
      sum += UInt32(message.getInteger(at: index, as: UInt16.self) ?? 0)
    }
    sum = (sum & 0xFFFF) + sum >> 16
    sum = (sum & 0xFFFF) + sum >> 16
    message.setInteger(~UInt16(truncatingIfNeeded: sum), at: 2)

    let descriptor = socket(AF_INET, CInt(SOCK_RAW.rawValue), CInt(IPPROTO_ICMP))
    defer { close(descriptor) }
    let count = unsafe message.withUnsafeReadableBytes { body in
      unsafe endpoint("127.0.0.1", 0).withSockAddr { address, length in
        unsafe sendto(
          descriptor, body.baseAddress, body.count, 0, address, socklen_t(length))
      }
    }
    #expect(count == message.readableBytes)
  }
}

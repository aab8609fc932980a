import Foundation
import Glibc
import TestSupport
import Testing

/// Clients that read more slowly than `rtp-send` sends: it ends when they have had everything, or
/// when it is told to.
@Suite(.serialized)
struct SlowClientTests {
  /// Bytes of a clip that is longer than all that sockets and queues hold.
  private static let length = 12 << 20

  @Test func aSlowClientGetsTheLastChunk() throws {
    let clip = try Clip.h264.get()
    let size = try Data(contentsOf: URL(fileURLWithPath: clip.container)).count
    let server = try SendingServer(
      clip.container,
      ["--fast", "--once", "--loop", "\(Self.length / size + 1)", "--stats", "-"])
    let reader = try SlowReader(port: server.port)
    reader.ask()
    let received = try reader.readToEnd()
    #expect(received.count > Self.length / 2)
    #expect(received.suffix(7).elementsEqual("\r\n0\r\n\r\n".utf8), "the last chunk is missing")
    #expect(try server.process.waitForExit() == 0, "\(server.process.standardError)")
    let totals = try #require(
      String(decoding: server.process.standardOutput, as: UTF8.self)
        .firstMatch(of: #/"datagrams":(\d+),"bytes":(\d+)/#))
    // Each packet stands behind its length in four bytes.
    let datagrams = try #require(Int(totals.1))
    let bytes = try #require(Int(totals.2))
    #expect(Self.bodyLength(of: received) == bytes + 4 * datagrams)
  }

  @Test func aClientThatReadsNothingDoesNotHoldAProgramThatIsStopped() throws {
    let clip = try Clip.h264.get()
    let server = try SendingServer(clip.container, ["--fast", "--loop", "forever"])
    let reader = try SlowReader(port: server.port)
    reader.ask()
    _ = try server.process.waitForLine(#/sending to/#)
    server.process.send(signal: SIGTERM)
    #expect(try server.process.waitForExit(within: 30) == 0, "\(server.process.standardError)")
    withExtendedLifetime(reader) {}
  }

  /// The bytes of all chunks of a response (RFC 9112 §7.1); `nil` if it does not end with the last
  /// chunk.
  private static func bodyLength(of response: [UInt8]) -> Int? {
    let end = Array("\r\n".utf8)
    guard let head = response.firstRange(of: end + end) else { return nil }
    var rest = response[head.upperBound...]
    var length = 0
    while let line = rest.firstRange(of: end) {
      let digits = String(decoding: rest[..<line.lowerBound], as: UTF8.self)
      guard let count = Int(digits, radix: 16) else { return nil }
      rest = rest[line.upperBound...]
      if count == 0 { return rest.elementsEqual(end) ? length : nil }
      guard rest.count >= count + end.count else { return nil }
      length += count
      rest = rest.dropFirst(count + end.count)
    }
    return nil
  }
}

/// A client of HTTP on loopback that reads a little at a time.
private final class SlowReader {
  /// Bytes, which Linux doubles (socket(7)).
  private static let receiveBuffer: Int32 = 64 << 10
  private static let block = 16 << 10
  /// Microseconds between two reads: less than three megabytes a second.
  private static let pause: UInt32 = 6000

  private let descriptor: Int32

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var room = Self.receiveBuffer
    // Before it connects, so that it holds for the window.
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(clamping: port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
  }

  deinit { close(descriptor) }

  func ask() {
    let request = Array("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    #expect(send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
  }

  /// What comes until the far end closes the connection.
  func readToEnd(within limit: Duration = .seconds(60)) throws -> [UInt8] {
    let deadline = ContinuousClock.now + limit
    var received: [UInt8] = []
    var block = [UInt8](repeating: 0, count: Self.block)
    while ContinuousClock.now < deadline {
      let count = recv(descriptor, &block, Self.block, 0)
      guard count >= 0 else { throw POSIXError(.ECONNRESET) }
      if count == 0 { return received }
      received += block[..<count]
      // It is slow on purpose.
      usleep(Self.pause)
    }
    throw TimedOut(description: "no end within \(limit), after \(received.count) bytes")
  }
}

import Foundation
import Glibc
import TestSupport
import Testing

/// A client on loopback that reads late, and a little at a time.
final class SlowReader {
  private static let block = 16 << 10

  private let descriptor: Int32

  /// Connects to `port`, with a receive buffer of so many bytes, which Linux doubles (socket(7)).
  ///
  /// With short segments the far end's kernel keeps less for a client.
  init(port: Int, receiveBuffer: Int32, longestSegment: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    // Before it connects, so that it holds for the window.
    var room = receiveBuffer
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    if var segment = longestSegment {
      setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment,
        socklen_t(MemoryLayout<Int32>.size))
    }
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

  func ask(_ text: String) {
    let request = Array(text.utf8)
    #expect(send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
  }

  /// Ends the connection.
  func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// What comes until it `isWhole`, or until the far end closes the connection, with so many
  /// microseconds between two reads.
  func read(
    pausing pause: UInt32 = 0, within limit: Duration = .seconds(60),
    until isWhole: ([UInt8]) -> Bool = { _ in false }
  ) throws -> [UInt8] {
    let deadline = ContinuousClock.now + limit
    var received: [UInt8] = []
    var block = [UInt8](repeating: 0, count: Self.block)
    while ContinuousClock.now < deadline {
      let count = recv(descriptor, &block, Self.block, 0)
      guard count >= 0 else { throw POSIXError(.ECONNRESET) }
      received += block[..<count]
      if count == 0 || isWhole(received) { return received }
      // It is slow on purpose.
      if pause > 0 { usleep(pause) }
    }
    throw TimedOut(description: "no end within \(limit), after \(received.count) bytes")
  }
}

import Foundation
import Glibc

/// A stream that has begun before anybody receives it.
public enum PassingStream {
  /// Takes what comes to UDP `port` until its pictures have gone on for `seconds`, and leaves the
  /// port to others.
  ///
  /// - Throws: ``TimedOut`` where that takes more than a minute.
  public static func wait(on port: UInt16, for seconds: Double) throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    guard socket >= 0 else { throw POSIXError(.EMFILE) }
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isBound else { throw POSIXError(.EADDRINUSE) }
    var packet = [UInt8](repeating: 0, count: 2048)
    var first: UInt32?
    try waitUntil("\(seconds) s of a stream to port \(port)") {
      while recv(socket, &packet, packet.count, Int32(MSG_DONTWAIT)) >= 12 {
        // RTCP has no such timestamp.
        guard !(192...223).contains(packet[1]) else { continue }
        let time = packet[4..<8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        first = first ?? time
        if let first, Double(time &- first) >= seconds * 90_000 { return true }
      }
      return false
    }
  }
}

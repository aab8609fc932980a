import Foundation
import Glibc

/// A stream that has begun before anybody receives it.
public enum PassingStream {
  /// Takes what comes to UDP `port` until its pictures have gone on for `seconds`, and leaves the
  /// port to others.
  ///
  /// - Throws: ``TimedOut`` where that takes more than a minute.
  public static func wait(on port: UInt16, for seconds: Double) throws {
    var first: UInt32?
    try take(from: port, until: "\(seconds) s of a stream") { packet in
      // RTCP has no such timestamp.
      guard packet.count >= 12, !(192...223).contains(packet[1]) else { return false }
      let time = packet[4..<8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      let start = first ?? time
      first = start
      return Double(time &- start) >= seconds * 90_000
    }
  }

  /// The same for a sender of which no more is to be known than that it sends: takes one datagram.
  public static func waitForDatagram(on port: UInt16) throws {
    try take(from: port, until: "a datagram") { _ in true }
  }

  private static func take(
    from port: UInt16, until what: String, _ isEnough: (ArraySlice<UInt8>) -> Bool
  ) throws {
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
    let size = packet.count
    try waitUntil("\(what) to port \(port)") {
      while true {
        let count = recv(socket, &packet, size, Int32(MSG_DONTWAIT))
        guard count >= 0 else { return false }
        if isEnough(packet[..<count]) { return true }
      }
    }
  }
}

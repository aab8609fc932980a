import Foundation
import Glibc

/// Ports of loopback for programs that cannot choose one themselves.
public enum FreePort {
  public static func tcp() throws -> UInt16 { try takeTCP() }

  /// One of TCP at which nobody listens as long as this process lives: its socket stays bound.
  public static let closed = Result { try takeTCP(staysOpen: true) }

  private static func takeTCP(staysOpen: Bool = false) throws -> UInt16 {
    var port: UInt16 = 0
    let isBound = withSocket(port: 0, staysOpen: staysOpen) { socket, address, length in
      guard bind(socket, address, length.pointee) == 0,
        getsockname(socket, address, length) == 0
      else { return false }
      port = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        UInt16(bigEndian: $0.pointee.sin_port)
      }
      return true
    }
    guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
    return port
  }

  /// One of UDP that is free, as are the three above it, for RTCP and another stream with its own:
  /// below those that the kernel gives to others.
  ///
  /// It is a multiple of four, so that what two processes choose is the same or apart.
  public static func udpPair() throws -> UInt16 {
    for _ in 0..<1000 {
      let port = 4 * UInt16.random(in: 2500..<8000)
      let isFree = (port...port + 3).allSatisfy { port in
        withSocket(port: port, SOCK_DGRAM) { bind($0, $1, $2.pointee) == 0 }
      }
      if isFree { return port }
    }
    throw POSIXError(.EADDRNOTAVAIL)
  }

  /// Whether a program has bound a socket of UDP to `port`, of which nothing but the kernel's own
  /// list tells.
  ///
  /// `String(contentsOfFile:)` reads only the first page of such lists.
  public static func isTaken(udp port: UInt16) throws -> Bool {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/net/udp"))
    let list = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    return list.contains(String(format: ":%04X ", Int(port)))
  }

  /// Returns when somebody takes connections on `port`.
  public static func waitForListener(on port: UInt16, _ name: String) throws {
    try waitUntil("\(name) takes connections on port \(port)") {
      withSocket(port: port) { connect($0, $1, $2.pointee) == 0 }
    }
  }

  private static func withSocket(
    port: UInt16, _ type: __socket_type = SOCK_STREAM, staysOpen: Bool = false,
    _ body: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
  ) -> Bool {
    let socket = Glibc.socket(AF_INET, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { if !staysOpen { close(socket) } }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body(socket, $0, &length) }
    }
  }
}

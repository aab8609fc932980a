import Foundation
import Glibc
import TestSupport

/// A UDP relay on loopback that loses, duplicates and reorders packets, from a seed.
///
/// Peers without impairments send through it. Without `loss` it loses nothing: a delayed packet
/// leaves after at most `depth` others, or after 20 ms of silence.
final class ImpairingRelay: @unchecked Sendable {
  let port: UInt16
  private let socket: Int32
  private var generator: SeededGenerator
  private let duplication: Double
  private let reordering: Double
  private let depth: Int
  private let loss: Double
  /// The first packets, which are never lost, because they show where a stream begins.
  private static let spared = 10
  private let lock = NSLock()
  private var isClosed = false

  init(
    to target: UInt16, seed: UInt64, duplication: Double, reordering: Double, depth: Int,
    loss: Double = 0
  ) throws {
    self.loss = loss
    self.duplication = duplication
    self.reordering = reordering
    self.depth = depth
    generator = SeededGenerator(seed: seed)
    let socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    self.socket = socket
    guard socket >= 0 else { throw POSIXError(.EIO) }
    var size: Int32 = 8 << 20
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    var address = Self.loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(socket, pointer, length) == 0 && getsockname(socket, pointer, &length) == 0
      }
    }
    guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in relay(to: target) }
  }

  /// Ends the relay and drops what it still holds.
  func close() { lock.withLock { isClosed = true } }

  private func relay(to target: UInt16) {
    defer { Glibc.close(socket) }
    var held: [(packet: [UInt8], after: Int)] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var received = 0
    while !lock.withLock({ isClosed }) {
      var poller = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      if poll(&poller, 1, 20) == 0 {
        for (packet, _) in held { send(packet, to: target) }
        held.removeAll()
        continue
      }
      let count = recv(socket, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      let packet = Array(buffer[0..<count])
      received += 1
      if loss > 0, generator.uniform() < loss, received > Self.spared { continue }
      if generator.uniform() < reordering {
        held.append((packet, 1 + Int(generator.next() % UInt64(depth))))
      } else {
        send(packet, to: target)
        if generator.uniform() < duplication { send(packet, to: target) }
        for index in held.indices { held[index].after -= 1 }
        for (packet, after) in held where after <= 0 { send(packet, to: target) }
        held.removeAll { $0.after <= 0 }
      }
    }
  }

  private func send(_ packet: [UInt8], to target: UInt16) {
    var address = Self.loopback(port: target)
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(socket, packet, packet.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

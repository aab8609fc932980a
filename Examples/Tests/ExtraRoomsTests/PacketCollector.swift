import Foundation
import Glibc

/// A socket on a free port; its buffer holds all packets of a short clip.
final class PacketCollector {
  private let descriptor: CInt
  let port: UInt16

  init() throws {
    let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
    self.descriptor = descriptor
    var size: CInt = 4 << 20
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, socklen_t(MemoryLayout<CInt>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
      }
    }
    guard result == 0 else { throw POSIXError(.EADDRINUSE) }
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }

  /// The packets that have come, without those of RTCP.
  func packets() -> [[UInt8]] {
    var packets: [[UInt8]] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
      guard count > 0 else { return packets }
      if !(192...223).contains(bytes[1]) { packets.append(Array(bytes[..<count])) }
    }
  }

  /// The packets that have come, one in each line.
  func hexLines() -> String {
    packets().map { packet in
      packet.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\n"
    }.joined()
  }

  /// The packets that have come as a recording of rtpdump, a millisecond apart.
  func recording() -> Data {
    var data = Data("#!rtpplay1.0 127.0.0.1/5004\n".utf8) + Data(count: 16)
    for (number, packet) in packets().enumerated() {
      for value in [packet.count + 8, packet.count] {
        withUnsafeBytes(of: UInt16(value).bigEndian) { data.append(contentsOf: $0) }
      }
      withUnsafeBytes(of: UInt32(number).bigEndian) { data.append(contentsOf: $0) }
      data.append(contentsOf: packet)
    }
    return data
  }
}

import Foundation
import Glibc

/// A clip as RTP packets, packetized by FFmpeg so that no receiver has its own sender.
struct Stream {
  let clip: String
  let sdp: String
  /// The packets in order; the marker is on the last one of each frame.
  let packets: [[UInt8]]

  enum Codec: String, CaseIterable { case h264, h265 }

  /// Encodes `source` (a lavfi description) as H.264 and records FFmpeg's packets of it.
  ///
  /// The B pictures of an elementary stream get no times of their own from FFmpeg, those of a
  /// transport stream (`ts`) do.
  init(
    name: String, source: String, encoding: [String], frames: Int, container: String = "h264",
    in folder: String
  ) throws {
    let clip = "\(folder)/\(name).\(container)"
    try run(
      ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, "-frames:v", "\(frames)"]
        + ["-pix_fmt", "yuv420p", "-c:v", "libx264"] + encoding + [clip])
    try self.init(of: clip, named: name, in: folder)
  }

  /// Records FFmpeg's packets of `clip`; `rate` is the one of an elementary stream, in frames a
  /// second.
  init(of clip: String, named name: String, rate: Int = 30, in folder: String) throws {
    self.clip = clip
    sdp = "\(folder)/\(name).sdp"
    let socket = try UDPSocket()
    let framerate = clip.hasSuffix(".ts") ? [] : ["-framerate", "\(rate)"]
    let sender = try Running(
      ["ffmpeg", "-v", "error"] + framerate + ["-i", clip, "-c", "copy", "-f", "rtp"] + [
        "-payload_type", "96", "-sdp_file", sdp, "rtp://127.0.0.1:\(socket.port)?pkt_size=1412",
      ])
    packets = socket.receiveAll(untilQuietFor: 2).filter { $0.count > 12 && $0[1] & 0x7F == 96 }
    sender.kill()
  }

  /// What an earlier run recorded and kept; `nil` without it.
  init?(kept clip: String, named name: String, in folder: String) {
    guard let data = FileManager.default.contents(atPath: "\(folder)/\(name).rtp4") else {
      return nil
    }
    self.clip = clip
    sdp = "\(folder)/\(name).sdp"
    var packets: [[UInt8]] = []
    var rest = data[...]
    while rest.count > 4 {
      let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      packets.append(Array(rest.dropFirst(4).prefix(length)))
      rest = rest.dropFirst(4 + length)
    }
    self.packets = packets
  }

  /// Keeps the packets for a later run.
  func keep(in folder: String, as name: String) throws {
    try FileManager.default.moveItem(
      atPath: write(in: folder), toPath: "\(folder)/\(name).rtp4")
  }

  /// The SDP for receivers that listen on `port`.
  func describe(port: UInt16) throws -> String {
    let text = try String(contentsOfFile: sdp, encoding: .utf8)
    let path = "\(sdp).\(port).sdp"
    try text.replacing(#/m=video \d+/#, with: "m=video \(port)")
      .write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  /// The approximate number of bytes that a packet adds to the elementary stream.
  var payloadBytesPerPacket: Double {
    Double(packets.reduce(0) { $0 + $1.count - 14 }) / Double(packets.count)
  }

  /// Writes the packets with a 4-byte big-endian length before each, and returns the file's path.
  func write(in folder: String) throws -> String {
    let path = "\(folder)/packets.rtp4"
    var data = Data()
    for packet in packets {
      withUnsafeBytes(of: UInt32(packet.count).bigEndian) { data.append(contentsOf: $0) }
      data.append(contentsOf: packet)
    }
    try data.write(to: URL(fileURLWithPath: path))
    return path
  }
}

/// A blocking UDP socket on loopback.
final class UDPSocket {
  struct Failed: Error {}

  private let descriptor: Int32
  let port: UInt16

  init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var size: Int32 = 64 << 20
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard bound else { throw Failed() }
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }

  func receiveAll(untilQuietFor seconds: Int32) -> [[UInt8]] {
    var packets: [[UInt8]] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, packets.isEmpty ? 20_000 : seconds * 1000) > 0 else { return packets }
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count > 0 { packets.append(Array(buffer[0..<count])) }
    }
  }

  /// Has the kernel note when packets come, for ``receive(within:)``.
  func noteTimes() {
    var isOn: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, 35 /* SO_TIMESTAMPNS */, &isOn, 4)
  }

  /// The next packet and when it came, in seconds of `CLOCK_REALTIME`, if there is one in time.
  func receive(within milliseconds: Int32) -> (packet: [UInt8], time: Double)? {
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&poller, 1, milliseconds) > 0 else { return nil }
    var packet = [UInt8](repeating: 0, count: 2048)
    // One message: 16 bytes of header, then seconds and nanoseconds.
    var control = [Int64](repeating: 0, count: 16)
    let count = packet.withUnsafeMutableBytes { packet in
      control.withUnsafeMutableBytes { control in
        var piece = iovec(iov_base: packet.baseAddress, iov_len: packet.count)
        return withUnsafeMutablePointer(to: &piece) { piece in
          var header = msghdr()
          (header.msg_iov, header.msg_iovlen) = (piece, 1)
          (header.msg_control, header.msg_controllen) = (control.baseAddress, control.count)
          return recvmsg(descriptor, &header, 0)
        }
      }
    }
    guard count > 0 else { return nil }
    return (Array(packet[0..<count]), Double(control[2]) + Double(control[3]) / 1e9)
  }

  func send(_ packet: [UInt8], to port: UInt16) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, packet, packet.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  /// A port that was free a moment ago, with a free one above it for RTCP.
  static func freePort() throws -> UInt16 {
    for _ in 0..<100 {
      let port = try UDPSocket().port & ~1
      if port > 1024 { return port }
    }
    throw Failed()
  }
}

/// Runs a command to its end.
func run(_ command: [String]) throws {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = command
  try process.run()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else {
    throw BenchError(description: "\(command.joined(separator: " ")) failed")
  }
}

struct BenchError: Error, CustomStringConvertible {
  let description: String
}

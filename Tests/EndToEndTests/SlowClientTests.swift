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
  private static let receiveBuffer: Int32 = 64 << 10
  /// Microseconds between two reads: less than three megabytes a second.
  private static let pause: UInt32 = 6000
  private static let request = "GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"

  @Test func aSlowClientGetsTheLastChunk() throws {
    let clip = try Clip.h264.get()
    let size = try Data(contentsOf: URL(fileURLWithPath: clip.container)).count
    let server = try SendingServer(
      clip.container,
      ["--fast", "--once", "--loop", "\(Self.length / size + 1)", "--stats", "-"])
    let reader = try SlowReader(port: server.port, receiveBuffer: Self.receiveBuffer)
    reader.ask(Self.request)
    let received = try reader.read(pausing: Self.pause)
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
    let reader = try SlowReader(port: server.port, receiveBuffer: Self.receiveBuffer)
    reader.ask(Self.request)
    _ = try server.process.waitForLine(#/sending to/#)
    server.process.send(signal: SIGTERM)
    #expect(try server.process.waitForExit(within: 30) == 0, "\(server.process.standardError)")
    withExtendedLifetime(reader) {}
  }

  // MARK: RTSP

  /// A goodbye to one source, at the end of a compound packet (RFC 3550 §6.6).
  private static func endsWithGoodbye(_ bytes: some Collection<UInt8>) -> Bool {
    bytes.suffix(8).starts(with: [0x81, 203, 0, 1])
  }

  /// Asks for the media in the connection.
  private static func connect(to server: RTSPSendTests.Server) throws -> SlowReader {
    let port = server.address.split(separator: ":").last.flatMap { Int($0) } ?? 0
    // Both kernels together then hold some 400 KB.
    let reader = try SlowReader(port: port, receiveBuffer: 16 << 10, longestSegment: 536)
    let url = server.url("film")
    reader.ask(
      "SETUP \(url) RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;interleaved=0-1\r\n\r\n"
        + "PLAY \(url) RTSP/1.0\r\nCSeq: 2\r\n\r\n")
    _ = try server.process.waitForLine(#/sending to/#)
    return reader
  }

  /// What the kernel does not take waits in the server when the stream has ended.
  @Test func aClientOfRTSPThatReadsLateGetsEveryPacket() throws {
    let clip = try Data(contentsOf: URL(fileURLWithPath: try Clip.h264.get().path))
    let film = try Scratch.path("h264")
    try (clip + clip + clip).write(to: URL(fileURLWithPath: film))
    let server = try RTSPSendTests.Server(
      [(film, "film")], ["--fast", "--once", "--frames", "700", "--stats", "-"])
    let reader = try Self.connect(to: server)
    // Longer than clients have for leaving (5 s), and the last bytes of one that is left (2 s).
    Thread.sleep(forTimeInterval: 8)
    let received = try reader.read { Self.endsWithGoodbye($0) }
    reader.leave()
    #expect(try server.process.waitForExit() == 0, "\(server.process.standardError)")
    let frames = try #require(Self.frames(in: received))
    let media = frames.filter { $0.channel == 0 }.map(\.packet)
    let totals = try #require(
      String(decoding: server.process.standardOutput, as: UTF8.self)
        .firstMatch(of: #/"packets":(\d+)/#))
    #expect(media.count == Int(totals.1))
    let numbers = media.map { UInt16($0[2]) << 8 | UInt16($0[3]) }
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 &+ 1 == $1 })
    let last = try #require(frames.last)
    #expect(last.channel == 1 && Self.endsWithGoodbye(last.packet))
  }

  @Test func aClientOfRTSPThatReadsNothingDoesNotHoldAProgramThatIsStopped() throws {
    let clip = try Clip.h264.get()
    let server = try RTSPSendTests.Server(
      [(clip.container, "film")], ["--fast", "--loop", "forever"])
    let reader = try Self.connect(to: server)
    server.process.send(signal: SIGTERM)
    #expect(try server.process.waitForExit(within: 30) == 0, "\(server.process.standardError)")
    withExtendedLifetime(reader) {}
  }

  /// The frames behind the answers (RFC 2326 §10.12), which have no bodies; `nil` if one is cut.
  private static func frames(in bytes: [UInt8]) -> [(channel: UInt8, packet: [UInt8])]? {
    var frames: [(channel: UInt8, packet: [UInt8])] = []
    var rest = bytes[...]
    while let first = rest.first {
      guard first == UInt8(ascii: "$") else {
        guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        rest = rest[end.upperBound...]
        continue
      }
      let head = Array(rest.prefix(4))
      guard head.count == 4 else { return nil }
      let length = Int(head[2]) << 8 | Int(head[3])
      guard length >= 8, rest.count >= 4 + length else { return nil }
      frames.append((head[1], Array(rest.dropFirst(4).prefix(length))))
      rest = rest.dropFirst(4 + length)
    }
    return frames
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

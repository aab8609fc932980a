import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import RTPSend

extension RTSPServingTests {
  /// A connection whose bytes are kept, or not read.
  final class Viewer: Sendable {
    private let channel: any Channel
    private let received: Received

    /// What came, which may be before anybody looks.
    private final class Received: Sendable {
      let bytes = Mutex<[UInt8]>([])
    }

    init(_ address: SocketAddress, receiveBuffer: Int? = nil) async throws {
      let received = Received()
      // A server may close at once.
      var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { $0.pipeline.addHandler(Inbox(received)) }
      if let receiveBuffer {
        bootstrap = bootstrap.channelOption(
          .socketOption(.so_rcvbuf), value: .init(receiveBuffer))
      }
      channel = try await bootstrap.connect(to: address).get()
      self.received = received
    }

    private final class Inbox: ChannelInboundHandler, Sendable {
      typealias InboundIn = ByteBuffer
      private let received: Received
      init(_ received: Received) { self.received = received }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        received.bytes.withLock { $0.append(contentsOf: bytes.readableBytesView) }
      }
    }

    var bytes: [UInt8] { received.bytes.withLock { $0 } }
    var count: Int { received.bytes.withLock { $0.count } }
    var isOpen: Bool { channel.isActive }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
      channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    func request(_ method: String, _ target: String, _ headers: [String] = []) {
      send(
        ([("\(method) \(target) RTSP/1.0")] + ["CSeq: 1"] + headers).joined(separator: "\r\n")
          + "\r\n\r\n")
    }

    /// Sends a request; returns the response's head, which no media may come before.
    func ask(_ method: String, _ target: String, _ headers: [String] = []) async throws -> String {
      let start = count
      request(method, target, headers)
      return try await eventualValue(of: "an answer to \(method)") {
        let text = String(decoding: self.bytes.dropFirst(start), as: UTF8.self)
        guard let begin = text.firstRange(of: "RTSP/1.0 "),
          let end = text[begin.lowerBound...].firstRange(of: "\r\n\r\n")
        else { return nil }
        return String(text[begin.lowerBound..<end.upperBound])
      }
    }

    /// Sets the only track up and plays it; returns the session.
    func play(_ url: String, _ transport: String = "RTP/AVP/TCP;unicast") async throws -> String {
      let setUp = try await ask("SETUP", url, ["Transport: \(transport)"])
      let id = Conversation.header("Session", in: setUp).map { String($0.prefix(16)) } ?? ""
      let played = try await ask("PLAY", url, ["Session: \(id)"])
      #expect(Conversation.status(played) == 200, "\(setUp)\(played)")
      return id
    }

    /// The same, but reads nothing from the answer to PLAY on.
    func playWithoutReading(_ url: String) async throws {
      let setUp = try await ask("SETUP", url, ["Transport: RTP/AVP/TCP;unicast"])
      let id = Conversation.header("Session", in: setUp).map { String($0.prefix(16)) } ?? ""
      try await setReading(false)
      request("PLAY", url, ["Session: \(id)"])
    }

    /// Whether a stream is described, rather than the connection ended.
    func isServed(_ url: String) async -> Bool {
      request("DESCRIBE", url)
      try? await eventually { count > 0 || !isOpen }
      return count > 0
    }

    func setReading(_ isReading: Bool) async throws {
      try await channel.setOption(.autoRead, value: isReading).get()
    }

    func close() async { try? await channel.close().get() }

    /// The interleaved RTP packets so far.
    func packets() throws -> [RTPPacket] {
      var rest = bytes[...]
      var packets: [RTPPacket] = []
      while let dollar = rest.first {
        guard dollar == 0x24 else {
          // A response: its head ends with an empty line.
          guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) else { break }
          rest = rest[end.upperBound...]
          continue
        }
        guard rest.count >= 4 else { break }
        let start = rest.startIndex
        let length = Int(rest[start + 2]) << 8 | Int(rest[start + 3])
        guard rest.count >= 4 + length else { break }
        if rest[start + 1] == 0 {
          packets.append(
            try RTPPacket(parsing: ByteBuffer(bytes: rest[(start + 4)..<(start + 4 + length)])))
        }
        rest = rest[(start + 4 + length)...]
      }
      return packets
    }
  }
}

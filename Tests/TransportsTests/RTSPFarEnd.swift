import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// An RTSP server on this machine that behaves well enough, or as a test wants.
final class RTSPFarEnd: Sendable {
  struct Request: Sendable {
    var method: String
    var uri: String
    /// Names in lower case.
    var headers: [String: String]
    /// Of the connection, from 0.
    var connection: Int
  }

  /// The deviations that a test wants.
  struct Script: Sendable {
    /// The whole response to a request, before which CSeq is filled in; `nil` for the usual one.
    var answer: @Sendable (Request) -> String? = { _ in nil }
    /// Runs on the server's loop before PLAY is answered.
    var asked: @Sendable (Peer) -> Void = { _ in }
    /// Runs when PLAY was answered.
    var played: @Sendable (Peer) -> Void = { _ in }
    /// Runs when a connection was accepted, instead of any reading.
    var accepted: (@Sendable (any Channel) -> Void)?
    /// Bytes to send at a time, each in a separate segment; `nil` for all.
    var portion: Int?
  }

  /// A connection of the server.
  struct Peer: Sendable {
    let channel: any Channel

    func send(frame bytes: ByteBuffer, onChannel number: UInt8 = 0) {
      send(frames: [bytes], onChannel: number)
    }

    func send(frames: [ByteBuffer], onChannel number: UInt8 = 0) {
      var all = ByteBuffer()
      for frame in frames {
        all.writeMultipleIntegers(UInt8(ascii: "$"), number, UInt16(frame.readableBytes))
        all.writeImmutableBuffer(frame)
      }
      channel.writeAndFlush(all, promise: nil)
    }
  }

  static let description = """
    v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=control:*\r\n\
    m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n\
    m=audio 0 RTP/AVP 97\r\na=rtpmap:97 L16/8000\r\na=control:track2\r\n
    """

  let requests = Record<Request>()
  /// Interleaved frames that the client sent.
  let frames = Record<(channel: UInt8, bytes: ByteBuffer)>()
  /// The channels of connections that ended.
  let closed = Record<Int>()
  let port: Int
  private let listener: any Channel
  private let accepted = Record<any Channel>()

  init(
    _ host: String = "127.0.0.1", _ script: Script = Script(), tls: TLSContext? = nil,
    tunnel: TunnelFarEnd.Service? = nil
  ) async throws {
    let (requests, frames, closed, accepted) = (requests, frames, closed, accepted)
    listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        accepted.append(channel)
        let number = accepted.elements.count - 1
        return channel.eventLoop.makeCompletedFuture {
          if let accept = script.accepted { return accept(channel) }
          let pipeline = channel.pipeline.syncOperations
          if let tls { try pipeline.addHandler(TLSLayer(tls)) }
          if let tunnel {
            try pipeline.addHandler(TunnelFarEnd(tunnel, portion: script.portion))
          }
          try pipeline.addHandler(
            Dialogue(script, number, requests: requests, frames: frames, closed: closed))
        }
      }
      .bind(host: host, port: 0).get()
    port = try #require(listener.localAddress?.port)
  }

  var url: String { "rtsp://127.0.0.1:\(port)/stream" }

  /// Closes everything, so that clients see a FIN.
  func close() async throws {
    for channel in accepted.elements { channel.close(promise: nil) }
    try await listener.close()
  }

  /// Closes what is connected now by RST.
  func reset() async throws {
    for channel in accepted.elements {
      let options = try #require(channel as? any SocketOptionProvider)
      try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).flatMap { channel.close() }
        .get()
    }
  }

  private final class Dialogue: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let script: Script
    private let number: Int
    private let requests: Record<Request>
    private let frames: Record<(channel: UInt8, bytes: ByteBuffer)>
    private let closed: Record<Int>
    private var input = ByteBuffer()

    init(
      _ script: Script, _ number: Int, requests: Record<Request>,
      frames: Record<(channel: UInt8, bytes: ByteBuffer)>, closed: Record<Int>
    ) {
      (self.script, self.number) = (script, number)
      (self.requests, self.frames, self.closed) = (requests, frames, closed)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      input.writeBuffer(&bytes)
      while input.readableBytes > 0, context.channel.isActive {
        if input.getInteger(at: input.readerIndex, as: UInt8.self) == UInt8(ascii: "$") {
          guard let length = input.getInteger(at: input.readerIndex + 2, as: UInt16.self),
            input.readableBytes >= 4 + Int(length),
            let head = input.readBytes(length: 4), let body = input.readSlice(length: Int(length))
          else { return }
          frames.append((head[1], body))
          continue
        }
        let text = String(buffer: input)
        guard let end = text.range(of: "\r\n\r\n") else { return }
        let head = String(text[..<end.lowerBound])
        input.moveReaderIndex(forwardBy: head.utf8.count + 4)
        answer(head, context)
      }
    }

    func channelInactive(context: ChannelHandlerContext) { closed.append(number) }

    private func answer(_ head: String, _ context: ChannelHandlerContext) {
      let lines = head.components(separatedBy: "\r\n")
      let words = lines[0].components(separatedBy: " ")
      var headers: [String: String] = [:]
      for line in lines.dropFirst() {
        let colon = line.firstIndex(of: ":") ?? line.endIndex
        headers[line[..<colon].lowercased()] =
          line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
      }
      let request = Request(
        method: words[0], uri: words.count > 1 ? words[1] : "", headers: headers,
        connection: number)
      requests.append(request)
      let peer = Peer(channel: context.channel)
      if request.method == "PLAY" { script.asked(peer) }
      let response = (script.answer(request) ?? usual(request))
        .replacingOccurrences(of: "CSEQ", with: headers["cseq"] ?? "")
      var bytes = ByteBuffer(string: response)
      while bytes.readableBytes > 0 {
        guard
          let part = bytes.readSlice(
            length: min(script.portion ?? bytes.readableBytes, bytes.readableBytes))
        else { break }
        context.writeAndFlush(NIOAny(part), promise: nil)
      }
      if request.method == "PLAY", response.contains("200") { script.played(peer) }
    }

    private func usual(_ request: Request) -> String {
      switch request.method {
      case "DESCRIBE":
        return "RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nContent-Type: application/sdp\r\n"
          + "Content-Length: \(RTSPFarEnd.description.utf8.count)\r\n\r\n" + RTSPFarEnd.description
      case "SETUP":
        let wanted = request.headers["transport"] ?? ""
        return "RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nSession: 7\r\nTransport: \(wanted)\r\n\r\n"
      default: return "RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nSession: 7\r\n\r\n"
      }
    }
  }
}

extension RTSPTransport {
  /// A transport for a server on this machine.
  convenience init(
    _ source: String, _ lowerTransport: RTSPConfiguration.LowerTransport = .tcp,
    configure: (inout RTSPConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = RTSPConfiguration()
    configuration.lowerTransport = lowerTransport
    configure(&configuration)
    try self.init(
      source: source, configuration: configuration,
      on: MultiThreadedEventLoopGroup.singleton.next())
  }

  /// Waits until the counters are as they should be.
  @discardableResult
  func counters(
    within limit: Duration = .seconds(20), until isReached: (TransportCounters) -> Bool
  ) async throws -> TransportCounters {
    try await eventualValue(of: "other counters", within: limit) {
      let counters = await counters()
      return isReached(counters) ? counters : nil
    }
  }
}

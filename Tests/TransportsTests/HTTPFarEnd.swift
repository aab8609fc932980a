import Foundation
import NIOCore
import NIOPosix
import NIOTLS
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// An HTTP server on this machine that answers with whatever bytes a test wants.
final class HTTPFarEnd: Sendable {
  struct Request: Sendable {
    var path: String
    /// Names in lower case.
    var headers: [String: String]
    var peer: any Channel
  }

  let requests = Record<Request>()
  /// Connections that ended.
  let closed = Record<Void>()
  let shownCertificates = Record<TLSCertificate>()
  let port: Int
  private let listener: any Channel
  private let accepted = Record<any Channel>()

  /// `answer` is called on the server's loop for every request.
  init(
    tls: TLSContext? = nil, on host: String = "127.0.0.1",
    _ answer: @escaping @Sendable (Request) -> Void
  ) async throws {
    let (requests, closed, accepted) = (requests, closed, accepted)
    let shownCertificates = shownCertificates
    listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.init(rawValue: TCP_NODELAY)), value: 1)
      .childChannelInitializer { channel in
        accepted.append(channel)
        return channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let tls { try pipeline.addHandler(TLSLayer(tls)) }
          let records = (requests, closed, shownCertificates)
          try pipeline.addHandler(Dialogue(answer, records))
        }
      }
      .bind(host: host, port: 0).get()
    port = try #require(listener.localAddress?.port)
  }

  /// A server that answers each request with `response`, as text, and then `body`.
  convenience init(
    _ response: String, body: ByteBuffer = ByteBuffer(), closes: Bool = true,
    tls: TLSContext? = nil
  ) async throws {
    try await self.init(tls: tls) { request in
      var bytes = ByteBuffer(string: response)
      bytes.writeImmutableBuffer(body)
      let written = request.peer.writeAndFlush(bytes)
      if closes { written.whenComplete { _ in request.peer.close(promise: nil) } }
    }
  }

  var url: String { "http://127.0.0.1:\(port)/stream" }

  func close() async throws {
    for channel in accepted.elements { channel.close(promise: nil) }
    try await listener.close()
  }

  private final class Dialogue: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let answer: @Sendable (Request) -> Void
    private let requests: Record<Request>
    private let closed: Record<Void>
    private let shownCertificates: Record<TLSCertificate>
    private var input = ""

    init(
      _ answer: @escaping @Sendable (Request) -> Void,
      _ records: (Record<Request>, Record<Void>, Record<TLSCertificate>)
    ) {
      self.answer = answer
      (requests, closed, shownCertificates) = records
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard event is TLSUserEvent,
        let layer = try? context.pipeline.syncOperations.handler(type: TLSLayer.self),
        let certificate = layer.session.peerCertificate
      else { return }
      shownCertificates.append(certificate)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = unwrapInboundIn(data)
      // The beginning of TLS, which is no request.
      if bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) == 0x16 {
        context.writeAndFlush(
          NIOAny(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n")), promise: nil)
        return context.close(promise: nil)
      }
      input += String(buffer: bytes)
      while let end = input.range(of: "\r\n\r\n") {
        let lines = input[..<end.lowerBound].components(separatedBy: "\r\n")
        input = String(input[end.upperBound...])
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1)
          headers[parts[0].lowercased()] =
            parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        let request = Request(
          path: lines[0].components(separatedBy: " ")[1], headers: headers, peer: context.channel)
        requests.append(request)
        answer(request)
      }
    }

    func channelInactive(context: ChannelHandlerContext) { closed.append(()) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
}

/// The head of an answer that is a stream in chunks.
let streamHead = "HTTP/1.1 200 OK\r\nContent-Type: video/rtp\r\nTransfer-Encoding: chunked\r\n\r\n"

/// `packets`, each after its length in four bytes.
func framed(_ packets: [ByteBuffer]) -> ByteBuffer {
  var bytes = ByteBuffer()
  for packet in packets {
    bytes.writeInteger(UInt32(packet.readableBytes))
    bytes.writeImmutableBuffer(packet)
  }
  return bytes
}

/// `bytes` in chunks of these sizes, the last of which is repeated; with an end if wanted.
func chunked(_ bytes: ByteBuffer, _ sizes: [Int], ends: Bool = true) -> ByteBuffer {
  var (rest, chunks, index) = (bytes, ByteBuffer(), 0)
  while rest.readableBytes > 0 {
    let size = min(sizes[min(index, sizes.count - 1)], rest.readableBytes)
    index += 1
    guard let part = rest.readSlice(length: size) else { break }
    chunks.writeString(String(size, radix: 16) + "\r\n")
    chunks.writeImmutableBuffer(part)
    chunks.writeString("\r\n")
  }
  if ends { chunks.writeString("0\r\n\r\n") }
  return chunks
}

extension HTTPTransport {
  convenience init(
    _ source: String, configure: (inout HTTPConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = HTTPConfiguration()
    configure(&configuration)
    try self.init(
      source: source, configuration: configuration,
      on: MultiThreadedEventLoopGroup.singleton.next())
  }
}

import Foundation
import NIOCore
import TestSupport

/// RTSP in HTTP before ``RTSPFarEnd``'s dialogue: answers GET and POST, and gives the dialogue what
/// comes in base64.
final class TunnelFarEnd: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// What all connections of a server have in common.
  final class Service: Sendable {
    /// The answer to the request with this number, counted from 0; `nil` for none.
    let answer: @Sendable (_ head: String, _ number: Int) -> String?
    /// Whether the connection of a POST ends when something has come by it.
    let closesUploads: Bool
    let heads = Record<String>()
    let uploadsClosed = Record<Void>()
    fileprivate let downloads = Record<any Channel>()

    static let opening = "HTTP/1.0 200 OK\r\nContent-Type: application/x-rtsp-tunnelled\r\n\r\n"

    init(
      closesUploads: Bool = false,
      answer: @escaping @Sendable (String, Int) -> String? = { head, _ in
        head.hasPrefix("GET") ? opening : nil
      }
    ) {
      (self.closesUploads, self.answer) = (closesUploads, answer)
    }

    /// The values of a field, in the order of the requests; empty where there is none.
    func values(of name: String) -> [String] {
      heads.elements.map { head in
        head.components(separatedBy: "\r\n").first { $0.hasPrefix(name + ": ") }
          .map { String($0.dropFirst(name.count + 2)) } ?? ""
      }
    }
  }

  private let service: Service
  private let portion: Int?
  private var input = ByteBuffer()
  private var download: (any Channel)?
  private var hasHead = false
  /// What came by a connection that has ended.
  private var last: ByteBuffer?

  init(_ service: Service, portion: Int?) { (self.service, self.portion) = (service, portion) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if hasHead, download == nil { return context.fireChannelRead(data) }
    var bytes = unwrapInboundIn(data)
    input.writeBuffer(&bytes)
    if !hasHead {
      let text = String(buffer: input)
      guard let end = text.range(of: "\r\n\r\n") else { return }
      let head = String(text[..<end.upperBound])
      input.moveReaderIndex(forwardBy: head.utf8.count)
      hasHead = true
      begin(head, context)
    }
    take(context)
  }

  private func begin(_ head: String, _ context: ChannelHandlerContext) {
    service.heads.append(head)
    let answer = service.answer(head, service.heads.elements.count - 1)
    if head.hasPrefix("GET") {
      service.downloads.append(context.channel)
    } else if answer == nil {
      download = service.downloads.elements.last
    }
    guard let answer else { return }
    var bytes = ByteBuffer(string: answer)
    while let part = bytes.readSlice(
      length: min(portion ?? bytes.readableBytes, bytes.readableBytes)), part.readableBytes > 0
    {
      context.writeAndFlush(NIOAny(part), promise: nil)
    }
    // A reset would take the answer away.
    if !answer.contains(" 200 ") { context.close(mode: .output, promise: nil) }
  }

  private func take(_ context: ChannelHandlerContext) {
    guard let download else { return }
    var plain = ByteBuffer()
    while let group = input.readString(length: 4) {
      plain.writeBytes(Data(base64Encoded: group) ?? Data())
    }
    guard plain.readableBytes > 0 else { return }
    if service.closesUploads {
      // Before an answer can come to it, the client knows that this connection has ended.
      last = plain
      context.close(mode: .output, promise: nil)
    } else {
      download.pipeline.fireChannelRead(plain)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if let download {
      service.uploadsClosed.append(())
      if let last { download.pipeline.fireChannelRead(last) }
    }
    context.fireChannelInactive()
  }
}

import NIOCore
import Testing

@testable import RTPSend

/// What the proxy takes out of a connection.
struct RTSPPiecesTests {
  @Test("a tunnel in HTTP passes as it is, before the length that it says has come")
  func tunnel() {
    let post = "POST /cam HTTP/1.0\r\nContent-Length: 32767\r\n\r\nREVTQ1JJQkU="
    var pieces = RTSPPieces()
    pieces.append(ByteBuffer(string: String(post.prefix(30))))
    #expect(pieces.next() == nil)
    pieces.append(ByteBuffer(string: String(post.dropFirst(30))))
    #expect(pieces.next() == .unknown(ByteBuffer(string: post)))
    #expect(pieces.next() == nil)
    pieces.append(ByteBuffer(string: "IHJ0c3A="))
    #expect(pieces.next() == .unknown(ByteBuffer(string: "IHJ0c3A=")))
    var answer = RTSPPieces()
    let head = ByteBuffer(string: "HTTP/1.0 200 OK\r\nContent-Type: x\r\n\r\n")
    answer.append(head)
    #expect(answer.next() == .unknown(head))
  }
}

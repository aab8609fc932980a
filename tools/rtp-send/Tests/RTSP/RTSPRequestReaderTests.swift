import NIOCore
import Testing

@testable import RTPSend

@Suite struct RTSPRequestReaderTests {
  @Test func messagesBehindABodyInPiecesAreRead() throws {
    var reader = RTSPRequestReader()
    let text =
      "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n"
      + "SET_PARAMETER * RTSP/1.0\r\nContent-Length: 2\r\n\r\nxy"
      + "OPTIONS * RTSP/1.0\r\nCSeq: 7\r\n\r\n"
    var bodies: [String] = []
    for byte in text.utf8 {
      reader.append(ByteBuffer(bytes: [byte]))
      while let item = try reader.next() {
        guard case .request(let request) = item else { continue }
        bodies.append("\(request.method) \(String(buffer: request.body))")
      }
    }
    #expect(bodies == ["SET_PARAMETER xy", "OPTIONS "])
    #expect(!reader.isInside)
  }
}

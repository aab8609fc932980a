internal import NIOCore

extension RTSPRequest {
  /// The bytes of the request (RFC 2326 §6), with Content-Length if there is a body.
  func encoded(version: String = "RTSP/1.0") -> ByteBuffer {
    // A space would start another word of the request line.
    let words = [method, uri].map { $0.split(separator: " ").joined() }
    return ByteBuffer(
      startLine: (words + [version]).joined(separator: " "), headers: headers, body: body)
  }
}

extension RTSPResponse {
  /// The bytes of the response (§7), with Content-Length if there is a body.
  func encoded() -> ByteBuffer {
    ByteBuffer(startLine: "RTSP/1.0 \(status) \(reason)", headers: headers, body: body)
  }
}

extension ByteBuffer {
  fileprivate init(startLine: String, headers: RTSPHeaders, body: [UInt8]) {
    self.init()
    writeLine(startLine)
    for field in headers.fields { writeLine("\(field.name): \(field.value)") }
    if !body.isEmpty { writeLine("Content-Length: \(body.count)") }
    writeLine("")
    writeBytes(body)
  }

  /// Writes a line without control characters, so that no text from a server or a user can start
  /// another line.
  private mutating func writeLine(_ text: String) {
    writeBytes(text.headerBytes.filter { $0 >= 0x20 && $0 != 0x7F })
    writeStaticString("\r\n")
  }
}

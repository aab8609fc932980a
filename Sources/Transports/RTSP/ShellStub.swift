internal import NIOCore
internal import RTPWire

extension RTSPRequest {
  func encoded() -> ByteBuffer {
    var text = "\(method) \(uri) RTSP/1.0\r\n"
    for field in headers.fields { text += "\(field.name): \(field.value)\r\n" }
    if !body.isEmpty { text += "Content-Length: \(body.count)\r\n" }
    var buffer = ByteBuffer(string: text + "\r\n")
    buffer.writeBytes(body)
    return buffer
  }
}

extension RTSPResponse {
  func encoded() -> ByteBuffer {
    var text = "RTSP/1.0 \(status) \(reason)\r\n"
    for field in headers.fields { text += "\(field.name): \(field.value)\r\n" }
    return ByteBuffer(string: text + "\r\n")
  }
}

extension RTSPURL {
  static func parse(_ text: String) throws(SourceFault) -> (RTSPURL, Credentials?) {
    guard let url = try? RTSPURL(parsing: text) else { throw .missingHost }
    guard let at = text.lastIndex(of: "@"), let slashes = text.firstRange(of: "//") else {
      return (url, nil)
    }
    let parts = text[slashes.upperBound..<at].split(separator: ":", maxSplits: 1).map(String.init)
    return (url, Credentials(user: parts[0], password: parts.count > 1 ? parts[1] : ""))
  }
}

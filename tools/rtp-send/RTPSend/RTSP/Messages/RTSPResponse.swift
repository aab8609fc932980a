import NIOCore

/// An answer to a request (RFC 2326 §7).
struct RTSPResponse: Sendable, Equatable {
  var status: RTSPStatus
  var headers: [(name: String, value: String)] = []
  /// A session description, or nothing.
  var body = ""

  init(_ status: RTSPStatus, _ headers: [(String, String)] = [], body: String = "") {
    self.status = status
    self.headers = headers
    self.body = body
  }

  static func == (left: RTSPResponse, right: RTSPResponse) -> Bool {
    left.status == right.status && left.body == right.body
      && left.headers.elementsEqual(right.headers) { $0 == $1 }
  }

  /// The message, under the sequence number of the request, if that had one.
  func bytes(sequence: String?) -> ByteBuffer {
    var text = "RTSP/1.0 \(status.rawValue) \(status.reason)\r\n"
    if let sequence { text += "CSeq: \(sequence)\r\n" }
    text += "Server: rtp-send\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
    return ByteBuffer(string: text + "\r\n" + body)
  }
}

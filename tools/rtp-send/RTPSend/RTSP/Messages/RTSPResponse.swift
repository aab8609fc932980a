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
  func text(sequence: String?) -> RTSPText {
    var lines = ["RTSP/1.0 \(status.rawValue) \(status.reason)"]
    if let sequence { lines.append("CSeq: \(sequence)") }
    lines.append("Server: rtp-send")
    lines += headers.map { "\($0.name): \($0.value)" }
    if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
    return RTSPText(lines: lines, body: Array(body.utf8))
  }
}

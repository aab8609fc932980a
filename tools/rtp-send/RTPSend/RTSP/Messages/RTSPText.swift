import NIOCore

/// An RTSP message as text that can be changed and sent on (RFC 2326 §4).
struct RTSPText: Equatable {
  /// The start line and the header lines.
  var lines: [String]
  var body: [UInt8]

  var isResponse: Bool { lines.first?.hasPrefix("RTSP/") == true }
  /// The method of a request.
  var method: String { lines.first?.split(separator: " ").first.map(String.init) ?? "" }
  /// The URL of a request.
  var url: String { lines.first?.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
  var status: Int { lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 }

  /// The value of the first header with this name.
  subscript(name: String) -> String? {
    get { index(of: name).map { Self.value(of: lines[$0]) } }
    set {
      guard let index = index(of: name) else { return }
      lines[index] = "\(name): \(newValue ?? "")"
    }
  }

  var bytes: ByteBuffer {
    var buffer = ByteBuffer()
    for line in lines { buffer.writeString(line + "\r\n") }
    buffer.writeString("\r\n")
    buffer.writeBytes(body)
    return buffer
  }

  /// A request as text.
  init(_ request: RTSPRequest) {
    lines = ["\(request.method) \(request.target) \(request.version)"]
    lines += request.headers.map { "\($0.name): \($0.value)" }
    body = []
  }

  init(lines: [String], body: [UInt8]) {
    (self.lines, self.body) = (lines, body)
  }

  private func index(of name: String) -> Int? {
    lines.indices.dropFirst().first {
      lines[$0].prefix { $0 != ":" }.lowercased() == name.lowercased()
    }
  }

  static func value(of line: String) -> String {
    String(line.drop { $0 != ":" }.dropFirst().drop { $0 == " " || $0 == "\t" })
  }
}

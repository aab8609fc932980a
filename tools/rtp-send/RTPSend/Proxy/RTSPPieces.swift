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

  private func index(of name: String) -> Int? {
    lines.indices.dropFirst().first {
      lines[$0].prefix { $0 != ":" }.lowercased() == name.lowercased()
    }
  }

  static func value(of line: String) -> String {
    String(line.drop { $0 != ":" }.dropFirst().drop { $0 == " " || $0 == "\t" })
  }
}

/// Divides the bytes of an RTSP connection into messages and interleaved frames (§10.12).
struct RTSPPieces {
  enum Piece: Equatable {
    case message(RTSPText)
    case frame(channel: UInt8, ByteBuffer)
    /// What is neither, to be passed on as it is; from then on everything is.
    case unknown(ByteBuffer)
  }

  static let longestHead = 64 << 10
  static let longestBody = 1 << 20

  private var unread = ByteBuffer()
  private var isUnknown = false

  mutating func append(_ bytes: ByteBuffer) {
    unread.writeImmutableBuffer(bytes)
    unread.discardReadBytes()
  }

  mutating func next() -> Piece? {
    guard let first = unread.getInteger(at: unread.readerIndex, as: UInt8.self) else { return nil }
    if isUnknown { return takeAll() }
    switch first {
    case UInt8(ascii: "$"): return frame()
    case 0x0D, 0x0A:
      // Between messages; some send it to keep the connection alive.
      unread.moveReaderIndex(forwardBy: 1)
      return next()
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): return message()
    default: return takeAll()
    }
  }

  private mutating func takeAll() -> Piece {
    isUnknown = true
    defer { unread.clear() }
    return .unknown(unread)
  }

  private mutating func frame() -> Piece? {
    let start = unread.readerIndex
    guard let channel = unread.getInteger(at: start + 1, as: UInt8.self),
      let length = unread.getInteger(at: start + 2, as: UInt16.self),
      let bytes = unread.getSlice(at: start + 4, length: Int(length))
    else { return nil }
    unread.moveReaderIndex(forwardBy: 4 + Int(length))
    return .frame(channel: channel, bytes)
  }

  private mutating func message() -> Piece? {
    guard let (head, bodyStart) = head() else {
      return unread.readableBytes > Self.longestHead ? takeAll() : nil
    }
    var message = RTSPText(
      lines: head.split { $0 == "\r\n" || $0 == "\n" || $0 == "\r" }.map(String.init), body: [])
    let length = message["Content-Length"].flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
    guard (0...Self.longestBody).contains(length) else { return takeAll() }
    guard let body = unread.getBytes(at: bodyStart, length: length) else { return nil }
    message.body = body
    unread.moveReaderIndex(to: bodyStart + length)
    return .message(message)
  }

  /// The text up to the empty line, and where the body begins.
  private func head() -> (String, Int)? {
    let view = unread.readableBytesView
    var lineLength = 0
    for index in view.indices.prefix(Self.longestHead) {
      switch view[index] {
      case 0x0A:
        if lineLength == 0, index > view.startIndex {
          return (String(decoding: view[..<index], as: UTF8.self), index + 1)
        }
        lineLength = 0
      case 0x0D: break
      default: lineLength += 1
      }
    }
    return nil
  }
}

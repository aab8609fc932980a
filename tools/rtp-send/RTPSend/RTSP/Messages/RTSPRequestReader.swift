import NIOCore

/// Cuts a client's bytes into requests and interleaved frames (RFC 2326 §4, §10.12).
///
/// What is kept is bounded: a message that is too long is a fault, after which nothing can be read.
struct RTSPRequestReader: Sendable {
  /// The most bytes of a request's head; the longest that players send has less than 2 KiB.
  static let longestHead = 16 << 10
  /// The longest line; clients of this kind cut longer ones too.
  static let longestLine = 4096
  /// With what is appended to it, the URL still fits in a line of a response.
  static let longestTarget = 2048
  static let mostHeaders = 100
  /// Bodies are lists of parameters, of which nothing is known here.
  static let longestBody = 16 << 10

  enum Item: Sendable, Equatable {
    case request(RTSPRequest)
    /// What came on a channel, mostly RTCP.
    case frame(channel: UInt8, ByteBuffer)
  }

  /// Why nothing more can be read.
  enum Fault: Error, Hashable {
    case malformed
    case headTooLong
    case targetTooLong
    case bodyTooLong

    var status: RTSPStatus {
      switch self {
      case .malformed: .badRequest
      case .headTooLong, .bodyTooLong: .entityTooLarge
      case .targetTooLong: .targetTooLong
      }
    }
  }

  private var bytes = ByteBuffer()
  /// Bytes at the front in which no head ends.
  private var searched = 0
  /// The head at the front whose body is still to come, so that it is read once, in however many
  /// pieces the body comes.
  private var head: Head?

  /// The head of a message, and the lengths of both parts.
  private struct Head: Sendable {
    var length: Int
    var bodyLength: Int
    /// `nil` for a response.
    var request: RTSPRequest?
  }

  /// Whether a message has begun and has not ended.
  var isInside: Bool { bytes.readableBytes > 0 }

  mutating func append(_ more: ByteBuffer) {
    bytes.discardReadBytes()
    bytes.writeImmutableBuffer(more)
  }

  /// Takes what has come and is not read.
  mutating func takeUnread() -> ByteBuffer {
    defer { self = RTSPRequestReader() }
    return bytes
  }

  /// The next whole message, or `nil` until more bytes come.
  mutating func next() throws(Fault) -> Item? {
    while true {
      skipEmptyLines()
      guard let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else { return nil }
      if first == UInt8(ascii: "$") { return frame() }
      // A request begins with its method; what does not is not RTSP, such as TLS on a plain port.
      guard Self.isToken(first) else { throw .malformed }
      let length = bytes.readableBytes
      if let request = try message() { return .request(request) }
      // A response, which answers nothing that was asked here, has been skipped, or more must come.
      if bytes.readableBytes == length { return nil }
    }
  }

  /// Empty lines between messages are tolerated (RFC 2326 §4), as some clients end bodies with one.
  private mutating func skipEmptyLines() {
    while let byte = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self),
      byte == 13 || byte == 10
    {
      bytes.moveReaderIndex(forwardBy: 1)
      searched = 0
    }
  }

  private mutating func frame() -> Item? {
    guard
      let (_, channel, length) = bytes.getMultipleIntegers(
        at: bytes.readerIndex, as: (UInt8, UInt8, UInt16).self),
      let payload = bytes.getSlice(at: bytes.readerIndex + 4, length: Int(length))
    else { return nil }
    bytes.moveReaderIndex(forwardBy: 4 + Int(length))
    searched = 0
    return .frame(channel: channel, payload)
  }

  private mutating func message() throws(Fault) -> RTSPRequest? {
    guard let head = try wholeHead() else { return nil }
    guard
      let content = bytes.getSlice(
        at: bytes.readerIndex + head.length, length: head.bodyLength)
    else {
      self.head = head
      return nil
    }
    bytes.moveReaderIndex(forwardBy: head.length + head.bodyLength)
    searched = 0
    self.head = nil
    guard var request = head.request else { return nil }
    request.body = content
    return request
  }

  /// The head with the empty line at its end, once that has come.
  private mutating func wholeHead() throws(Fault) -> Head? {
    if let head { return head }
    let end = Self.headEnd(in: bytes, from: searched)
    guard end ?? bytes.readableBytes <= Self.longestHead else { throw .headTooLong }
    guard let end, let slice = bytes.getSlice(at: bytes.readerIndex, length: end) else {
      searched = bytes.readableBytes
      return nil
    }
    let request = try Self.parse(slice)
    return Head(length: end, bodyLength: try Self.bodyLength(request), request: request)
  }

  /// The place behind the first empty line whose end is at or behind `start`.
  private static func headEnd(in bytes: ByteBuffer, from start: Int) -> Int? {
    let view = bytes.readableBytesUInt8Span
    var index = start
    while index < view.count {
      if view[index] == 10 {
        let isEmptyLine =
          index >= 1 && view[index - 1] == 10
          || index >= 2 && view[index - 1] == 13 && view[index - 2] == 10
        if isEmptyLine { return index + 1 }
      }
      index += 1
    }
    return nil
  }

  /// A request; `nil` for a response, which answers nothing that was asked here.
  private static func parse(_ head: ByteBuffer) throws(Fault) -> RTSPRequest? {
    var lines: [String] = []
    for line in head.readableBytesView.split(separator: 10) {
      let bytes = line.last == 13 ? line.dropLast() : line
      guard !bytes.isEmpty else { continue }
      // Control characters would also do harm in what is printed.
      guard bytes.allSatisfy({ $0 >= 32 && $0 != 127 || $0 == 9 }) else { throw .malformed }
      guard bytes.count <= longestLine else { throw .headTooLong }
      let text = String(decoding: bytes, as: UTF8.self)
      if let first = bytes.first, first == 32 || first == 9, lines.count > 1 {
        // A header that goes on in the next line (RFC 2326 §4.2, as in HTTP).
        lines[lines.count - 1] += " " + text.trimmed
      } else {
        lines.append(text)
      }
      guard lines.count <= mostHeaders + 1 else { throw .headTooLong }
    }
    let words = (lines.first ?? "").split(separator: " ")
    if words.first?.hasPrefix("RTSP/") == true { return nil }
    guard words.count == 3, words[0].utf8.allSatisfy(isToken) else { throw .malformed }
    guard words[1].utf8.count <= longestTarget else { throw .targetTooLong }
    var request = RTSPRequest(
      method: String(words[0]), target: String(words[1]), version: String(words[2]))
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { throw .malformed }
      let name = line[..<colon].trimmed.lowercased()
      guard !name.isEmpty, name.utf8.allSatisfy(isToken) else { throw .malformed }
      request.headers.append(
        RTSPRequest.Header(name: name, value: line[line.index(after: colon)...].trimmed))
    }
    return request
  }

  private static func bodyLength(_ request: RTSPRequest?) throws(Fault) -> Int {
    // The body of HTTP is a tunnel, whatever its length is said to be.
    guard request?.isOfHTTP != true, let text = request?["content-length"] else { return 0 }
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { throw .malformed }
    // What is no number of this size is too long.
    guard let length = Int(text), length <= longestBody else { throw .bodyTooLong }
    return length
  }

  /// RFC 2326 §15.1: the characters of methods and header names.
  private static func isToken(_ byte: UInt8) -> Bool {
    byte > 32 && byte < 127 && !#"()<>@,;:\"/[]?={}"#.utf8.contains(byte)
  }
}

internal import NIOCore

/// Reads one message of RTSP, or of its like, from its first byte on, however the reads divide it
/// (RFC 2326 §4).
///
/// Lines end in CRLF, LF or CR. Bytes that were read are removed from the buffer, so that no byte
/// is read twice. Every part of a message has a limit.
struct RTSPMessageReader: Sendable {
  enum Outcome: Sendable {
    case message(RTSPElement)
    case incomplete
    /// The bytes are no message after all; so many of them were read and removed.
    case invalid(bytes: Int)
  }

  /// Which protocol the message is of; all have messages of the same form.
  enum Dialect: Sendable {
    case rtsp
    /// The head of a response of HTTP; what follows it is left in the buffer.
    case httpHead
    /// Names of fields may be shortened (RFC 3261 §7.3.3).
    case sip

    /// What the version in the first line begins with.
    var version: String {
      switch self {
      case .rtsp: "RTSP/"
      case .httpHead: "HTTP/"
      case .sip: "SIP/"
      }
    }
  }

  static let maximumLine = 8 << 10
  static let maximumHeaders = 256
  static let maximumHead = 64 << 10
  static let maximumBody = 128 << 10

  private let dialect: Dialect
  private var start: Start?
  private var headers = RTSPHeaders()
  private var headLength = 0
  /// How many bytes at the front of the buffer are known to hold no line end.
  private var scanned = 0
  /// Whether the last line ended in CR, so that a LF that follows belongs to it.
  private var isBehindCarriageReturn = false
  private var bodyLength: Int?
  private var body: [UInt8] = []

  private enum Start: Sendable {
    case response(status: Int, reason: String)
    case request(method: String, uri: String)
  }

  init(_ dialect: Dialect = .rtsp) { self.dialect = dialect }

  /// Whether the head is complete.
  var isInBody: Bool { bodyLength != nil }

  mutating func read(from bytes: inout ByteBuffer) throws(RTSPError) -> Outcome {
    while bodyLength == nil {
      guard let line = try readLine(from: &bytes) else { return .incomplete }
      if start == nil {
        start = start(line)
        if start == nil { return .invalid(bytes: headLength) }
      } else if line.isEmpty {
        bodyLength = try announcedBody()
      } else {
        try readHeader(line)
      }
    }
    skipLineFeed(in: &bytes)
    guard let bodyLength, let start else { return .incomplete }
    let missing = bodyLength - body.count
    body += bytes.readBytes(length: min(missing, bytes.readableBytes)) ?? []
    guard body.count == bodyLength else { return .incomplete }
    switch start {
    case .response(let status, let reason):
      return .message(
        .response(RTSPResponse(status: status, reason: reason, headers: headers, body: body)))
    case .request(let method, let uri):
      return .message(
        .request(RTSPRequest(method: method, uri: uri, headers: headers, body: body)))
    }
  }

  // MARK: Lines

  private mutating func readLine(from bytes: inout ByteBuffer) throws(RTSPError) -> [UInt8]? {
    skipLineFeed(in: &bytes)
    let view = bytes.readableBytesView.dropFirst(scanned)
    guard let end = view.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else {
      scanned = bytes.readableBytes
      guard scanned <= Self.maximumLine else {
        throw .messageTooLarge(what: "line", limit: Self.maximumLine)
      }
      return nil
    }
    let length = end - bytes.readerIndex
    scanned = 0
    guard length <= Self.maximumLine else {
      throw .messageTooLarge(what: "line", limit: Self.maximumLine)
    }
    headLength += length + 1
    guard headLength <= Self.maximumHead else {
      throw .messageTooLarge(what: "head", limit: Self.maximumHead)
    }
    isBehindCarriageReturn = view[end] == 0x0D
    let line = bytes.readBytes(length: length) ?? []
    bytes.moveReaderIndex(forwardBy: 1)
    return line
  }

  private mutating func skipLineFeed(in bytes: inout ByteBuffer) {
    guard isBehindCarriageReturn,
      let byte = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self)
    else { return }
    isBehindCarriageReturn = false
    guard byte == 0x0A else { return }
    bytes.moveReaderIndex(forwardBy: 1)
    headLength += 1
  }

  private func start(_ line: [UInt8]) -> Start? {
    let words = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2)
    guard words.count >= 2 else { return nil }
    if words[0].hasPrefix(dialect.version) {
      guard words[1].utf8.count == 3, let status = Int(words[1]), (100...999).contains(status)
      else {
        return nil
      }
      // Some servers leave the reason out.
      return .response(status: status, reason: words.count > 2 ? words[2].trimmed : "")
    }
    guard dialect != .httpHead, words.count == 3, words[2].hasPrefix(dialect.version) else {
      return nil
    }
    return .request(method: String(words[0]), uri: String(words[1]))
  }

  private mutating func readHeader(_ line: [UInt8]) throws(RTSPError) {
    // Control characters have no meaning in a field, and NUL ends strings in other programs.
    let text = String(headerBytes: line.filter { $0 >= 0x20 || $0 == 0x09 })
    if line.first == 0x20 || line.first == 0x09, !headers.fields.isEmpty {
      return headers.continueLast(with: text.trimmed)
    }
    guard let colon = text.firstIndex(of: ":") else { return }
    guard headers.fields.count < Self.maximumHeaders else {
      throw .messageTooLarge(what: "number of header fields", limit: Self.maximumHeaders)
    }
    headers.add(text[..<colon].trimmed, text[colon...].dropFirst().trimmed)
  }

  /// The announced length of the body; 0 when none is announced, or it is left in the buffer.
  private func announcedBody() throws(RTSPError) -> Int {
    let announced: String? =
      switch dialect {
      case .rtsp: headers["Content-Length"]
      case .httpHead: nil
      case .sip: headers["Content-Length"] ?? headers["l"]
      }
    guard let text = announced, !text.isEmpty else { return 0 }
    // More digits than a number of this machine has are a length all the same.
    guard text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
      throw .invalidLength(text)
    }
    guard let length = Int(text), length <= Self.maximumBody else {
      throw .messageTooLarge(what: "body", limit: Self.maximumBody)
    }
    return length
  }

  // MARK: Recognition

  /// Whether a message of RTSP can begin at `index`: with a version, or with a method and its
  /// target.
  static func begins(in bytes: ByteBuffer, at index: Int) -> RTSPFrameEvidence.Judgement {
    let version = Dialect.rtsp.version.utf8
    let start = bytes.viewBytes(
      at: index, length: min(longestMethod + 2, bytes.writerIndex - index))
    guard let start, let first = start.first else { return .undecided }
    guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else { return .no }
    if start.starts(with: version) { return .yes }
    if version.starts(with: start) { return .undecided }
    let method = start.prefix {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || $0 == UInt8(ascii: "_")
    }
    guard method.count <= longestMethod else { return .no }
    let rest = start.dropFirst(method.count)
    guard rest.count >= 2 else {
      return rest.isEmpty || rest.first == UInt8(ascii: " ") ? .undecided : .no
    }
    guard method.count >= 3, rest.first == UInt8(ascii: " "), let target = rest.dropFirst().first
    else { return .no }
    return [UInt8(ascii: "r"), UInt8(ascii: "R"), UInt8(ascii: "*"), UInt8(ascii: "/")]
      .contains(target) ? .yes : .no
  }

  /// `GET_PARAMETER` and `SET_PARAMETER` have 13 letters, `PLAY_NOTIFY` of RTSP 2.0 has 11.
  private static let longestMethod = 16
}

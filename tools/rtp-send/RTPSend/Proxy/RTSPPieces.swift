import NIOCore

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
  /// How many bytes in front hold no empty line, and how many of them are of the last line.
  private var searched = (bytes: 0, line: 0)
  /// A message that waits for its body, and the length of that.
  private var incomplete: (message: RTSPText, length: Int)?

  mutating func append(_ bytes: ByteBuffer) {
    unread.writeImmutableBuffer(bytes)
    unread.discardReadBytes()
  }

  mutating func next() -> Piece? {
    if incomplete != nil { return completed() }
    // Between messages there may be empty lines; some send them to keep the connection alive.
    while !isUnknown, let byte = first, byte == 0x0D || byte == 0x0A {
      unread.moveReaderIndex(forwardBy: 1)
    }
    guard let first else { return nil }
    if isUnknown { return takeAll() }
    switch first {
    case UInt8(ascii: "$"): return frame()
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): return message()
    default: return takeAll()
    }
  }

  private var first: UInt8? { unread.getInteger(at: unread.readerIndex) }

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
    guard let length = headLength(),
      let head = unread.getString(at: unread.readerIndex, length: length)
    else { return unread.readableBytes > Self.longestHead ? takeAll() : nil }
    let lines = head.split { $0 == "\r\n" || $0 == "\n" || $0 == "\r" }.map(String.init)
    // A tunnel, which stays closed: the length that it says is not to be waited for.
    if lines.first?.split(separator: " ").contains(where: { $0.hasPrefix("HTTP/") }) == true {
      return takeAll()
    }
    let message = RTSPText(lines: lines, body: [])
    let bodyLength = message["Content-Length"].flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
    guard (0...Self.longestBody).contains(bodyLength) else { return takeAll() }
    unread.moveReaderIndex(forwardBy: length)
    searched = (0, 0)
    incomplete = (message, bodyLength)
    return completed()
  }

  private mutating func completed() -> Piece? {
    guard let length = incomplete?.length, let body = unread.readBytes(length: length),
      var message = incomplete?.message
    else { return nil }
    incomplete = nil
    message.body = body
    return .message(message)
  }

  /// The length up to and with the empty line; what has been searched is not searched again.
  private mutating func headLength() -> Int? {
    let view = unread.readableBytesView
    for index in view.indices.prefix(Self.longestHead).dropFirst(searched.bytes) {
      searched.bytes += 1
      switch view[index] {
      case 0x0A:
        if searched.line == 0 { return searched.bytes }
        searched.line = 0
      case 0x0D: break
      default: searched.line += 1
      }
    }
    return nil
  }
}

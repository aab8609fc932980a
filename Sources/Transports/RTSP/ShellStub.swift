internal import NIOCore
internal import RTPWire

struct RTSPInput: Sendable {
  var assignedChannels: [UInt8] = []
  private(set) var skipped: UInt64 = 0
  private var buffer = ByteBuffer()
  mutating func append(_ bytes: ByteBuffer, at now: Instant) {
    var bytes = bytes
    if buffer.readableBytes == 0 { buffer = bytes } else { buffer.writeBuffer(&bytes) }
  }
  mutating func next(at now: Instant) throws(RTSPError) -> RTSPElement? {
    while let byte = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self),
      byte == 13 || byte == 10
    { buffer.moveReaderIndex(forwardBy: 1) }
    guard let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else { return nil }
    if first == UInt8(ascii: "$") {
      guard let channel = buffer.getInteger(at: buffer.readerIndex + 1, as: UInt8.self),
        let length = buffer.getInteger(at: buffer.readerIndex + 2, as: UInt16.self),
        buffer.readableBytes >= 4 + Int(length)
      else { return nil }
      buffer.moveReaderIndex(forwardBy: 4)
      return buffer.readSlice(length: Int(length)).map { .frame(channel: channel, $0) }
    }
    let text = String(buffer: buffer)
    guard let end = text.firstRange(of: "\r\n\r\n") else {
      if text.utf8.count > 65536 { throw .framingLost(skipped: 65536) }
      return nil
    }
    let head = String(text[..<end.lowerBound])
    let headLength = head.utf8.count + 4
    let lines = head.split(separator: "\r\n").map(String.init)
    var headers = RTSPHeaders()
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
      if parts.count == 2 {
        headers.add(parts[0], parts[1].split(separator: " ").joined(separator: " "))
      }
    }
    let length = headers["Content-Length"].flatMap { Int($0) } ?? 0
    guard buffer.readableBytes >= headLength + length else { return nil }
    buffer.moveReaderIndex(forwardBy: headLength)
    let body = buffer.readBytes(length: length) ?? []
    let words = (lines.first ?? "").split(separator: " ").map(String.init)
    if words.first?.hasPrefix("RTSP/") == true {
      return .response(
        RTSPResponse(
          status: words.count > 1 ? Int(words[1]) ?? 0 : 0,
          reason: words.dropFirst(2).joined(separator: " "), headers: headers, body: body))
    }
    guard words.count == 3 else { throw .framingLost(skipped: headLength) }
    return .request(RTSPRequest(method: words[0], uri: words[1], headers: headers, body: body))
  }
}

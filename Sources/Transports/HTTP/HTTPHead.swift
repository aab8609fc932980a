/// What the headers of a response say that concerns a stream (RFC 9110).
///
/// Lines come one at a time, as libcurl gives them; those of an interim response and of one that is
/// answered with credentials are forgotten when the next status line comes.
struct HTTPHead: Sendable, Hashable {
  private(set) var status = 0
  /// In lower case, without parameters.
  private(set) var contentType: String?
  private(set) var contentEncoding: String?
  /// Seconds; a date is not looked at.
  private(set) var retryAfter: Int?
  /// Whether all lines of a response are there.
  private(set) var isComplete = false
  /// Bytes of all lines so far, those forgotten included.
  private(set) var byteCount = 0

  /// Bytes of all headers of an exchange; servers send a few hundred.
  static let limit = 64 << 10
  /// The longest wait that is believed, in seconds: one day.
  private static let longestWait = 86_400

  /// Takes a line behind the body, of which nothing matters but that there are not too many bytes:
  /// libcurl keeps them all.
  mutating func appendTrailer(_ line: some Collection<UInt8>) -> Bool {
    let (count, overflow) = byteCount.addingReportingOverflow(line.count)
    byteCount = count
    return !overflow && byteCount <= Self.limit
  }

  /// Takes a line with its line end, if any; false when there have been too many bytes.
  mutating func append(_ line: some Collection<UInt8>) -> Bool {
    guard appendTrailer(line) else { return false }
    let content = line.filter { $0 != 0x0D && $0 != 0x0A }
    let text = String(decoding: content, as: UTF8.self).trimmed
    if text.hasPrefix("HTTP/") {
      self = HTTPHead(status: Self.status(in: text), byteCount: byteCount)
    } else if text.isEmpty {
      isComplete = true
    } else if let colon = text.firstIndex(of: ":"), !isComplete {
      take(text[..<colon].lowercased(), String(text[colon...].dropFirst()).trimmed)
    }
    return true
  }

  private mutating func take(_ name: String, _ value: String) {
    switch name {
    case "content-type":
      contentType = value.split(separator: ";").first.map { String($0).trimmed.lowercased() }
    case "content-encoding":
      contentEncoding = value.lowercased() == "identity" || value.isEmpty ? nil : value
    case "transfer-encoding":
      let coding = value.lowercased().split(separator: ",").map { String($0).trimmed }
        .first { $0 != "chunked" && $0 != "identity" }
      contentEncoding = coding ?? contentEncoding
    case "retry-after":
      retryAfter = Int(value).flatMap { $0 < 0 ? nil : min($0, Self.longestWait) }
    default: break
    }
  }

  /// The number in `HTTP/1.1 200 OK`.
  private static func status(in line: String) -> Int {
    line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  }
}

extension HTTPHead {
  /// Why the body, if there is one, is no stream; `nil` where it may be one.
  var objection: HTTPError? {
    if status == 204 { return .noContent }
    guard status == 200 else { return .refused(status: status, retryAfter: retryAfter) }
    if let contentEncoding { return .encoded(contentEncoding) }
    switch contentType {
    case "text/html", "application/xhtml+xml": return .webPage
    // What servers of files say of an ending that they do not know; the first packet tells.
    case "video/rtp", "application/octet-stream", nil: return nil
    case let type?: return .otherContent(type: type)
    }
  }
}

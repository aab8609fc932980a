/// The parts of a response's headers that matter for a stream (RFC 9110).
///
/// libcurl delivers the lines one at a time. A new status line replaces everything before it: an
/// interim response, or one that was answered with credentials.
struct HTTPHead: Sendable, Hashable {
  private(set) var status = 0
  /// In lower case, without parameters.
  private(set) var contentType: String?
  private(set) var contentEncoding: String?
  /// Seconds; the date form is ignored.
  private(set) var retryAfter: Int?
  /// Whether all lines of the response have come.
  private(set) var isComplete = false
  /// Bytes of all lines so far, replaced ones included.
  private(set) var byteCount = 0

  /// The most header bytes in one exchange; servers send a few hundred.
  static let limit = 64 << 10
  /// The longest `Retry-After` that is honoured, in seconds: one day.
  private static let longestWait = 86_400

  /// Counts a line after the body; false when there have been too many bytes.
  ///
  /// libcurl keeps all of these lines, so they need a limit.
  mutating func appendTrailer(_ line: some Collection<UInt8>) -> Bool {
    let (count, overflow) = byteCount.addingReportingOverflow(line.count)
    byteCount = count
    return !overflow && byteCount <= Self.limit
  }

  /// Reads a line, with or without its line end; false when there have been too many bytes.
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
  /// Why the body cannot be a stream; `nil` where it may be one.
  var objection: HTTPError? {
    if status == 204 { return .noContent }
    guard status == 200 else { return .refused(status: status, retryAfter: retryAfter) }
    if let contentEncoding { return .encoded(contentEncoding) }
    switch contentType {
    case "text/html", "application/xhtml+xml": return .webPage
    // File servers use octet-stream for unknown file endings; the first packet tells.
    case "video/rtp", "application/octet-stream", nil: return nil
    case let type?: return .otherContent(type: type)
    }
  }
}

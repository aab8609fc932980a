/// Where a request goes: a stream, or one of its tracks.
///
/// Clients put the track behind the path (`/name/trackID=1?query`, GStreamer) or behind the query
/// (`/name?query/trackID=1`, FFmpeg), with slashes at the end or without.
struct RTSPTarget: Sendable, Equatable {
  /// The path without slashes at its ends, percent signs resolved; empty for `*` and `/`.
  var path: String
  /// 1 for the first track.
  var track: Int?
  /// Whether the target is `*`, which names the server.
  var isServer: Bool

  private static let trackMark = "/trackID="

  init(_ target: String) {
    isServer = target == "*"
    var rest = isServer ? "" : target[...]
    if let scheme = rest.firstRange(of: "://") {
      let authority = rest[scheme.upperBound...]
      rest = authority.firstIndex(of: "/").map { authority[$0...] } ?? ""
    }
    while rest.hasSuffix("/") { rest.removeLast() }
    var text = String(rest)
    if let mark = Self.last(Self.trackMark, in: text) {
      let digits = text[mark.upperBound...].prefix { $0.isASCII && $0.isNumber }
      let after = text[digits.endIndex...]
      if let number = Int(digits), after.isEmpty || after.hasPrefix("?") {
        track = number
        text = text[..<mark.lowerBound] + String(after)
      }
    }
    let path = text.prefix { $0 != "?" }
    self.path = Self.decoded(path.trimmingSlashes)
  }

  /// The form of the URL that stands in `Content-Base`: with one slash at its end.
  static func base(of url: String) -> String {
    url.trimmingTrailingSlashes + "/"
  }

  private static func last(_ mark: String, in text: String) -> Range<String.Index>? {
    text.ranges(of: mark).last
  }

  private static func decoded(_ text: Substring) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension StringProtocol where SubSequence == Substring {
  fileprivate var trimmingSlashes: Substring {
    var rest = self[...]
    while rest.hasPrefix("/") { rest.removeFirst() }
    while rest.hasSuffix("/") { rest.removeLast() }
    return rest
  }

  fileprivate var trimmingTrailingSlashes: String {
    var rest = self[...]
    while rest.hasSuffix("/") { rest.removeLast() }
    return String(rest)
  }
}

/// The URLs for the requests after DESCRIBE (RFC 2326 §C.1.1).
///
/// Servers differ in how they resolve relative control attributes. So there are several candidates,
/// which are tried in order. The first one is not what RFC 3986 §5.2 gives: it is the attribute
/// appended to the base after a slash. FFmpeg, GStreamer and live555 use this form, so devices were
/// tested with it. The RFC's form is among the next candidates.
///
/// An attribute or base that names another host is used as written, but over the existing
/// connection: devices behind address translation write the address they know.
struct ControlURLs: Sendable, Hashable {
  /// The first of Content-Base, Content-Location and the request's URL that is a URL.
  private let base: RTSPURLParts
  private let requested: RTSPURLParts

  init(_ response: RTSPResponse, requested url: ServerURL) {
    let request = RTSPURLParts(origin: url.origin, pathAndQuery: url.path)
    requested = request
    let stated = ["Content-Base", "Content-Location"].lazy.compactMap { name in
      response.headers[name].flatMap { request.base($0) }
    }
    base = stated.first ?? request
  }

  /// The URLs for PLAY and TEARDOWN; never empty.
  func aggregate(of description: SessionDescription) -> [String] {
    usable(forms(of: description.control) + [base.text, requested.text])
  }

  /// The URLs for SETUP, for each media section; none where the section has no control attribute.
  ///
  /// Each of several sections must have one (RFC 2326 §C.2). Where the `selected` one has none, it
  /// is set up by the URL of the whole, which is right if it is the only one. By that URL no other
  /// can be: FFmpeg and live555 try, and a server with one track then sets up the same track anew.
  func media(of description: SessionDescription, selected: Int?) -> [[String]] {
    // FFmpeg and gortsplib resolve relative attributes against an absolute URL of the session.
    let session = description.control.flatMap { requested.absolute($0) }
    return description.media.enumerated().map { index, media in
      let forms = usable(forms(of: media.control, session: session))
      return forms.isEmpty && index == selected ? aggregate(of: description) : forms
    }
  }

  /// The possible meanings of a control attribute; none when it is missing or `*`.
  private func forms(of control: String?, session: RTSPURLParts? = nil) -> [String] {
    guard let control = control?.requestable, !control.isEmpty, control != "*",
      control.utf8.count <= ServerURL.maximumLength
    else { return [] }
    if let absolute = requested.absolute(control) {
      // A server may write another name for itself than the one it is reached by.
      return [absolute.text, RTSPURLParts(origin: requested.origin, of: absolute).text]
    }
    guard SourceAddress.scheme(of: control) == nil else { return [] }
    return base.joined(with: control) + (session?.joined(with: control).prefix(1) ?? [])
      + requested.joined(with: control).prefix(1)
  }

  private func usable(_ urls: [String]) -> [String] {
    var seen: Set<String> = []
    let usable = urls.filter {
      $0.utf8.count <= ServerURL.maximumLength && seen.insert($0).inserted
    }
    return Array(usable.prefix(Self.maximumCandidates))
  }

  /// Each refused URL costs a round trip, and some devices count it as an attempt to break in.
  private static let maximumCandidates = 4
}

/// A URL split only where joining needs it; otherwise the text stays as written.
private struct RTSPURLParts: Sendable, Hashable {
  /// Scheme, host and port, without a user name.
  let origin: String
  /// From the first slash to the query; may be empty.
  let path: String
  /// From the question mark on; may be empty.
  let query: String

  var text: String { origin + path + query }

  init(origin: String, pathAndQuery: String) {
    self.origin = origin
    let mark = pathAndQuery.firstIndex(of: "?") ?? pathAndQuery.endIndex
    path = String(pathAndQuery[..<mark])
    query = String(pathAndQuery[mark...])
  }

  init(origin: String, of other: RTSPURLParts) {
    self.origin = origin
    path = other.path
    query = other.query
  }

  // MARK: What a server wrote

  /// An absolute URL as the server wrote it; `nil` when it is not absolute, or of another protocol.
  func absolute(_ text: String) -> RTSPURLParts? {
    var rest = text.requestable[...]
    guard var scheme = rest.rtspScheme else { return nil }
    rest = rest.dropFirst(scheme.count + 3)
    // Some cameras write 'rtsp://rtsp://192.0.2.1/live'.
    while let inner = rest.rtspScheme {
      scheme = inner
      rest = rest.dropFirst(inner.count + 3)
    }
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    var authority = rest[..<end]
    if let at = authority.lastIndex(of: "@") { authority = authority[at...].dropFirst() }
    let origin = "\(scheme)://\(authority)"
    // An invalid host and port, as in 'rtsp://::ffff:192.0.2.1/live', stands for the current
    // server.
    let isValid = (try? ServerURL(parsing: origin)) != nil
    return RTSPURLParts(origin: isValid ? origin : self.origin, pathAndQuery: String(rest[end...]))
  }

  /// What Content-Base or Content-Location means in the response to a request for this URL; `nil`
  /// when it is empty, too long or of another protocol.
  func base(_ text: String) -> RTSPURLParts? {
    let text = text.requestable
    guard !text.isEmpty, text != "*", text.utf8.count <= ServerURL.maximumLength else { return nil }
    if let absolute = absolute(text) { return absolute }
    guard SourceAddress.scheme(of: text) == nil else { return nil }
    if text.hasPrefix("/") { return RTSPURLParts(origin: origin, pathAndQuery: text) }
    // Anjvision cameras leave out 'rtsp://': text that begins like an address is one.
    let first = text.prefix { $0 != "/" && $0 != "?" }
    let isAddress = first.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    let isHost = isAddress || first.contains(":") || origin.hasSuffix("://" + first)
    if isHost { return absolute(String(origin.prefix { $0 != ":" }) + "://" + text) }
    return resolved(text)
  }

  // MARK: Joining

  /// The possible meanings of `reference`, the most likely first.
  func joined(with reference: String) -> [String] {
    let name = reference.hasPrefix("/") ? reference.dropFirst() : reference[...]
    // Dahua appends to the query: '…/realmonitor?channel=1&subtype=0/trackID=0'.
    let appended = text + ((path + query).hasSuffix("/") ? "" : "/") + name
    if reference.hasPrefix("?") {
      let alone = query.isEmpty ? text + reference : origin + path + reference
      return [alone, appended]
    }
    let directory = path.hasSuffix("/") ? path : path + "/"
    // The reference already contains the whole path.
    if reference.hasPrefix("/"), directory != "/", reference.hasPrefix(directory) {
      return [resolved(reference).text, appended]
    }
    var ways = [appended]
    // Axis devices put the query at the end: '…/media.amp/stream=0?videocodec=h264'.
    if !query.isEmpty { ways.append(origin + directory + name + query) }
    return ways + [resolved(reference).text]
  }

  /// RFC 3986 §5.2.2 for a reference without scheme and authority.
  private func resolved(_ reference: String) -> RTSPURLParts {
    let target = RTSPURLParts(origin: origin, pathAndQuery: reference)
    if target.path.isEmpty {
      return RTSPURLParts(origin: origin, pathAndQuery: path + target.query)
    }
    let isWhole = target.path.hasPrefix("/")
    let directory = path[..<(path.lastIndex(of: "/") ?? path.startIndex)] + "/"
    let merged = (isWhole ? "" : directory) + target.path
    return RTSPURLParts(origin: origin, pathAndQuery: merged.withoutDotSegments + target.query)
  }
}

extension Substring {
  /// The scheme, if it is one of RTSP's.
  fileprivate var rtspScheme: String? {
    ["rtsp", "rtsps"].first { scheme in
      prefix(scheme.count + 3).lowercased() == scheme + "://"
    }
  }
}

extension String {
  /// The text in a form that is allowed in a request line.
  fileprivate var requestable: String {
    String(decoding: utf8.filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self).trimmed.spacesEncoded
  }
}

extension StringProtocol {
  /// The path without `.` and `..` (RFC 3986 §5.2.4).
  fileprivate var withoutDotSegments: String {
    var kept: [SubSequence] = []
    let segments = split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { kept.append(segment.prefix(0)) }
      case "..":
        // The first segment is the text before the first slash.
        if kept.count > 1 { kept.removeLast() }
        if isLast { kept.append(segment.prefix(0)) }
      default: kept.append(segment)
      }
    }
    return kept.joined(separator: "/")
  }
}

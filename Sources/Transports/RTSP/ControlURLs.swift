/// The URLs that the requests after DESCRIBE are sent to (RFC 2326 §C.1.1).
///
/// Relative control attributes are resolved in ways that differ, so that there are candidates, to
/// be tried in order. The first is not what RFC 3986 §5.2 gives but the attribute appended to the
/// base after a slash, because that is what FFmpeg, GStreamer and live555 ask for, and so what
/// devices were tried with; the RFC's form is one of those that follow.
///
/// An attribute or base that names another host is used as it stands, but in the connection that
/// there is: devices behind address translation write the address that they know.
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

  /// What PLAY, PAUSE and TEARDOWN are sent to; never empty.
  func aggregate(of description: SessionDescription) -> [String] {
    usable(forms(of: description.control) + [base.text, requested.text])
  }

  /// What SETUP is sent to, for each media section; never empty.
  func media(of description: SessionDescription) -> [[String]] {
    let aggregate = aggregate(of: description)
    // FFmpeg and gortsplib take an absolute URL of the session for the base of all that is relative.
    let session = description.control.flatMap { requested.absolute($0) }
    return description.media.map { media in
      let forms = usable(forms(of: media.control, session: session))
      return forms.isEmpty ? aggregate : forms
    }
  }

  /// What a control attribute may mean; nothing when it is missing or stands for the whole.
  private func forms(of control: String?, session: RTSPURLParts? = nil) -> [String] {
    guard let control = control?.requestable, !control.isEmpty, control != "*",
      control.utf8.count <= ServerURL.maximumLength
    else { return [] }
    if let absolute = requested.absolute(control) {
      // A server may know itself by another name than the one that it is reached by.
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

  /// Each that is refused costs a round trip, and some devices count them as attempts to break in.
  private static let maximumCandidates = 4
}

/// A URL divided where joining needs it; otherwise the text stays as its writer wrote it.
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

  /// An absolute URL in the server's writing; `nil` when it is none, or one of another protocol.
  func absolute(_ text: String) -> RTSPURLParts? {
    var rest = text.requestable[...]
    guard var scheme = rest.rtspScheme else { return nil }
    rest = rest.dropFirst(scheme.count + 3)
    // Some cameras write ‘rtsp://rtsp://192.0.2.1/live’.
    while let inner = rest.rtspScheme {
      scheme = inner
      rest = rest.dropFirst(inner.count + 3)
    }
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    var authority = rest[..<end]
    if let at = authority.lastIndex(of: "@") { authority = authority[at...].dropFirst() }
    let origin = "\(scheme)://\(authority)"
    // What is no host and port, as ‘rtsp://::ffff:192.0.2.1/live’, stands for where we are.
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
    // Anjvision cameras leave ‘rtsp://’ out: what begins like an address is one.
    let first = text.prefix { $0 != "/" && $0 != "?" }
    let isAddress = first.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    let isHost = isAddress || first.contains(":") || origin.hasSuffix("://" + first)
    if isHost { return absolute(String(origin.prefix { $0 != ":" }) + "://" + text) }
    return resolved(text)
  }

  // MARK: Joining

  /// The ways in which `reference` may be meant, the most likely first.
  func joined(with reference: String) -> [String] {
    let name = reference.hasPrefix("/") ? reference.dropFirst() : reference[...]
    // Dahua appends to the query: ‘…/realmonitor?channel=1&subtype=0/trackID=0’.
    let appended = text + ((path + query).hasSuffix("/") ? "" : "/") + name
    if reference.hasPrefix("?") {
      let alone = query.isEmpty ? text + reference : origin + path + reference
      return [alone, appended]
    }
    let directory = path.hasSuffix("/") ? path : path + "/"
    // Of a whole path nothing is missing.
    if reference.hasPrefix("/"), directory != "/", reference.hasPrefix(directory) {
      return [resolved(reference).text, appended]
    }
    var ways = [appended]
    // Axis devices have the query at the end: ‘…/media.amp/stream=0?videocodec=h264’.
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
  /// The scheme, if it is one of RTSP.
  fileprivate var rtspScheme: String? {
    ["rtsp", "rtsps"].first { scheme in
      prefix(scheme.count + 3).lowercased() == scheme + "://"
    }
  }
}

extension String {
  /// The text as it may stand in a request line.
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
        // The first segment is what stands before the first slash.
        if kept.count > 1 { kept.removeLast() }
        if isLast { kept.append(segment.prefix(0)) }
      default: kept.append(segment)
      }
    }
    return kept.joined(separator: "/")
  }
}

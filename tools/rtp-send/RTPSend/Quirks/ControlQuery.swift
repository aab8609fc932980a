/// The query in the control URLs of Axis Companion: it refuses SETUP without it, so that a client
/// has to take the URLs as they are (RFC 2326 C.1.1).
enum ControlQuery {
  private static let query = "Axis-Orig-Sw=true"

  static func isIn(_ url: String) -> Bool { url.contains(query) }

  /// The URL with the query behind its track.
  static func added(to url: some StringProtocol) -> String {
    let url = String(url)
    return isIn(url) ? url : url + (url.contains("?") ? "&" : "?") + query
  }

  /// The description with whole URLs, where the server says on what they are based.
  static func added(toDescription text: String, base: String?) -> String {
    let attribute = "a=control:"
    let base = base.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    let lines = text.split { $0.isNewline }.map { line -> String in
      guard line.hasPrefix(attribute) else { return String(line) }
      let name = String(line.dropFirst(attribute.count))
      if name.contains("://") { return attribute + added(to: name) }
      // `*` is the whole.
      guard name != "*" else { return attribute + (base.map { added(to: $0) } ?? name) }
      return attribute + added(to: base.map { $0 + "/" + name } ?? name)
    }
    return lines.map { $0 + "\r\n" }.joined()
  }

  /// Gives the request the URL that the server knows.
  static func remove(from request: inout RTSPText) {
    guard let line = request.lines.first else { return }
    request.lines[0] = line.replacing("?" + query, with: "").replacing("&" + query, with: "")
  }
}

import NIOCore

/// A client's request (RFC 2326 §6).
struct RTSPRequest: Sendable, Equatable {
  /// As it came; methods are case-sensitive (§6.1).
  var method: String
  /// The URL, a path, or `*`.
  var target: String
  var version = "RTSP/1.0"
  /// In order, names in lower case.
  var headers: [Header] = []
  var body = ByteBuffer()

  struct Header: Sendable, Equatable {
    var name: String
    var value: String
  }

  /// The value of a header; the first one where there are several.
  subscript(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  var isOfHTTP: Bool { version.hasPrefix("HTTP/1.") }

  /// All values of a header, each of which may be a list.
  func values(_ name: String) -> [String] {
    headers.filter { $0.name == name }.map(\.value)
  }

  /// Gives the session another name, if there is one.
  mutating func rename(session: String?) {
    guard let session, let index = headers.firstIndex(where: { $0.name == "session" }) else {
      return
    }
    headers[index].value = session
  }

  /// The identifier in `Session:`, without its parameters.
  var session: String? {
    self["session"].map {
      $0.split(separator: ";", maxSplits: 1).first.map { String($0).trimmed } ?? ""
    }
  }
}

extension StringProtocol {
  /// Without spaces and tabs at both ends.
  var trimmed: String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    guard let first = firstIndex(where: { !isSpace($0) }),
      let last = lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(self[first...last])
  }
}

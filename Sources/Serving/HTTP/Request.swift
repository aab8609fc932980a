import NIOHTTP1

/// What is asked for: a path with a query, and the headers that a route may look at.
public struct Request: Sendable {
  /// Without the query, as it was sent: percent signs are not resolved.
  public let path: String
  /// Of several values of one name, the first.
  public let query: [String: String]
  private let headers: HTTPHeaders

  init(_ head: HTTPRequestHead) {
    let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts.first ?? "/")
    var query: [String: String] = [:]
    for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(sides[0])
      if query[name] == nil { query[name] = sides.count > 1 ? String(sides[1]) : "" }
    }
    self.query = query
    headers = head.headers
  }

  /// The values of the header `name`, in one line.
  public func header(_ name: String) -> String? {
    let values = headers[name]
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

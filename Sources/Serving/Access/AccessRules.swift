import NIOHTTP1

/// Who may ask for what: checked for every request, that for a WebSocket included.
///
/// A page of another site can have a browser on this machine send requests here, even by a name
/// that it points to this machine (DNS rebinding). So the name must be one of ours, and a browser
/// must not say that another site asks. Who is not on this machine needs a token.
struct AccessRules: Sendable {
  enum Decision: Sendable, Hashable {
    case allowed
    /// The token came in the address: the browser keeps it, and asks again without.
    case keepsToken(cookie: String, path: String)
    case refused(HTTPResponseStatus, String)
  }

  /// Names by which the server may be called; addresses always may.
  private let names: Set<String>
  /// `nil` if only this machine can ask.
  private let token: AccessToken?
  /// Cookies of one host are sent to all of its ports.
  private let cookieName: String

  /// `names` are those of this machine, and the one that the user gave.
  init(names: Set<String>, token: AccessToken?, port: Int) {
    self.names = Set(names.map { $0.lowercased() }).union(["localhost"])
    self.token = token
    cookieName = "rtp-recv-\(port)"
  }

  /// Decides on `head`, the head of a request.
  func decide(on head: HTTPRequestHead) -> Decision {
    guard head.method == .GET || head.method == .HEAD else {
      return .refused(.methodNotAllowed, "only GET is answered")
    }
    // No site can have a browser send it, and scrapers and proxies know this machine by any name.
    let isScraper = token.map { hasBearer(head, $0) } ?? false
    let hosts = head.headers["host"]
    guard hosts.count == 1, let host = Authority(hosts[0]),
      isScraper || host.isAddress || names.contains(host.host)
    else { return .refused(.misdirectedRequest, "the host that is asked for is not this one") }
    guard isOwnSite(head, host: host) else {
      return .refused(.forbidden, "another site asks")
    }
    guard let token else { return .allowed }
    if let given = Request(head).query["token"], token.matches(given) {
      // Programs ask for one thing and keep nothing; a page is in the browser's history.
      let path = Request(head).path
      if path.hasPrefix("/cameras/") || path == "/metrics" { return .allowed }
      // A link in a mail leads here from another site, and so does the redirection behind it. What
      // pages of other sites ask for is refused above.
      return .keepsToken(
        cookie: "\(cookieName)=\(token.text); Path=/; HttpOnly; SameSite=Lax",
        path: Self.withoutToken(head.uri))
    }
    guard isScraper || cookies(of: head).contains(where: token.matches) else {
      return .refused(
        .unauthorized, "a token is needed; rtp-recv prints it on standard error when it begins")
    }
    return .allowed
  }

  /// Where to go on: a place on this server, whatever `uri` says.
  private static func withoutToken(_ uri: String) -> String {
    let parts = uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts[0]
    guard path.hasPrefix("/"), !["/", "\\"].contains(path.dropFirst().first) else { return "/" }
    let rest = parts.dropFirst().flatMap { $0.split(separator: "&") }
      .filter { !$0.hasPrefix("token=") }.joined(separator: "&")
    return path + (rest.isEmpty ? "" : "?" + rest)
  }

  /// Whether no browser says that another site asks; links from elsewhere may lead here.
  private func isOwnSite(_ head: HTTPRequestHead, host: Authority) -> Bool {
    for origin in head.headers["origin"] {
      let rest =
        origin.hasPrefix("http://")
        ? origin.dropFirst(7) : origin.hasPrefix("https://") ? origin.dropFirst(8) : ""
      guard Authority(rest) == host else { return false }
    }
    let isVisit = head.headers["sec-fetch-mode"] == ["navigate"]
    return head.headers["sec-fetch-site"].allSatisfy {
      ["same-origin", "none"].contains($0) || isVisit
    }
  }

  private func hasBearer(_ head: HTTPRequestHead, _ token: AccessToken) -> Bool {
    head.headers["authorization"].contains { value in
      let parts = value.split(separator: " ", maxSplits: 1)
      return parts.count == 2 && parts[0].lowercased() == "bearer" && token.matches(parts[1])
    }
  }

  private func cookies(of head: HTTPRequestHead) -> [Substring] {
    head.headers["cookie"].flatMap { $0.split(separator: ";") }.compactMap { pair in
      let parts = pair.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].drop(while: { $0 == " " }) == cookieName else { return nil }
      return parts[1]
    }
  }
}

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
    let request = Request(head)
    let hasInAddress = request.query["token"].flatMap { token?.matches($0) } ?? false
    // Programs ask for one thing and keep nothing; a page is in the browser's history.
    let isForPrograms = request.path.hasPrefix("/cameras/") || request.path == "/metrics"
    // No site knows the token, or can have a browser send the header, and scrapers and proxies know
    // this machine by any name.
    let knowsToken = (token.map { hasBearer(head, $0) } ?? false) || hasInAddress && isForPrograms
    let hosts = head.headers["host"]
    guard hosts.count == 1, let host = Authority(hosts[0]),
      knowsToken || host.isAddress || names.contains(host.host)
    else {
      return .refused(
        .misdirectedRequest,
        "the host that is asked for is not this one; ask by an address of this machine"
          + (token == nil ? "" : ", or send the token as 'Authorization: Bearer'"))
    }
    // Browsers send Origin with the page's own scripts, which are the same for everybody, and say
    // what a proxy leaves out.
    let isScript = request.path.hasSuffix(".js")
    guard isScript || hasOwnOrigin(head, host: host), hasOwnSite(head) else {
      return .refused(
        .forbidden, "another site asks; a proxy has to pass Host on as it comes, with its port")
    }
    guard let token else { return .allowed }
    if hasInAddress, !isForPrograms {
      // A link in a mail leads here from another site, and so does the redirection behind it. What
      // pages of other sites ask for is refused above.
      return .keepsToken(
        cookie: "\(cookieName)=\(token.text); Path=/; HttpOnly; SameSite=Lax",
        path: Self.withoutToken(head.uri))
    }
    guard knowsToken || cookies(of: head).contains(where: token.matches) else {
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

  /// Whether no browser says that the page of another site asks.
  private func hasOwnOrigin(_ head: HTTPRequestHead, host: Authority) -> Bool {
    head.headers["origin"].allSatisfy { origin in
      guard
        let (beginning, port) = Self.schemes.first(where: { origin.hasPrefix($0.beginning) }),
        let site = Authority(origin.dropFirst(beginning.count))
      else { return false }
      return site.host == host.host && site.port ?? port == host.port ?? port
    }
  }

  /// Whether no browser says that another site asks; links from elsewhere may lead here.
  private func hasOwnSite(_ head: HTTPRequestHead) -> Bool {
    let isVisit = head.headers["sec-fetch-mode"] == ["navigate"]
    return head.headers["sec-fetch-site"].allSatisfy {
      ["same-origin", "none"].contains($0) || isVisit
    }
  }

  /// How origins begin, and the port that each leaves out (RFC 6454 §4).
  private static let schemes: [(beginning: String, port: UInt16)] = [
    ("http://", 80), ("https://", 443),
  ]

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

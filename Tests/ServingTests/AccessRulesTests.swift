import NIOCore
import NIOHTTP1
import Testing

@testable import Serving

/// Who may ask for what.
struct AccessRulesTests {
  @Test(
    "where the page is served, as rtp-send's addresses are written",
    arguments: [
      (":9821", "0.0.0.0:9821"), ("[::1]:0", "[::1]:0"), ("camera:9800", "camera:9800"),
      ("9800", nil), (":", nil), ("", nil),
    ] as [(String, String?)])
  func listenAddress(text: String, address: String?) {
    #expect(ListenAddress(text).map { "\($0)" } == address)
  }

  struct Asker: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let headers: [(String, String)]
    var method = HTTPMethod.GET
    var uri = "/"
    let status: UInt

    init(
      _ words: String, _ headers: KeyValuePairs<String, String>, method: HTTPMethod = .GET,
      uri: String = "/", _ status: UInt
    ) {
      testDescription = words
      self.headers = headers.map { ($0.key, $0.value) }
      (self.method, self.uri, self.status) = (method, uri, status)
    }

    var head: HTTPRequestHead {
      HTTPRequestHead(
        version: .http1_1, method: method, uri: uri, headers: HTTPHeaders(headers))
    }
  }

  private static func status(of decision: AccessRules.Decision) -> UInt {
    switch decision {
    case .allowed: 200
    case .keepsToken: 303
    case .refused(let status, _): status.code
    }
  }

  @Test(
    "on this machine",
    arguments: [
      Asker("a browser that is given the address", ["Host": "127.0.0.1:9800"], 200),
      Asker("by name", ["Host": "localhost:9800"], 200),
      Asker("by the name of this machine, in capitals", ["Host": "NVR:9800"], 200),
      Asker("through a tunnel on another port", ["Host": "localhost:1234"], 200),
      Asker("by IPv6", ["Host": "[::1]:9800"], 200),
      Asker("a name that somebody points here", ["Host": "evil.example:9800"], 421),
      Asker("a name that looks like an address", ["Host": "127.0.0.1.evil.example"], 421),
      Asker("no host", [:], 421),
      Asker("two hosts", ["Host": "localhost", "host": "evil.example"], 421),
      Asker("a host with a path", ["Host": "localhost/x"], 421),
      Asker("a host with a user", ["Host": "evil@localhost"], 421),
      Asker("a port that is none", ["Host": "localhost:x"], 421),
      Asker("a port that is too large", ["Host": "localhost:70000"], 421),
      Asker("a port that is empty", ["Host": "localhost:"], 421),
      Asker("brackets around a name", ["Host": "[localhost]:9800"], 421),
      Asker(
        "the page itself", ["Host": "localhost:9800", "Origin": "http://localhost:9800"], 200),
      Asker(
        "the page's script behind a proxy that drops the port",
        ["Host": "localhost", "Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-origin"],
        uri: "/main.js", 200),
      Asker(
        "the script from another site",
        ["Host": "localhost", "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"],
        uri: "/main.js", 403),
      Asker(
        "the page behind a proxy with TLS", ["Host": "localhost", "Origin": "https://localhost"],
        200
      ),
      Asker(
        "the page behind a proxy that says the port of TLS",
        ["Host": "localhost:443", "Origin": "https://localhost"], 200),
      Asker(
        "the page at the port of HTTP, which the browser leaves out",
        ["Host": "localhost:80", "Origin": "http://localhost"], 200),
      Asker(
        "the page behind a proxy that leaves its port out",
        ["Host": "localhost", "Origin": "https://localhost:8443"], 403),
      Asker(
        "a page of TLS on the same host",
        ["Host": "localhost:9800", "Origin": "https://localhost"], 403),
      Asker(
        "a page of TLS on the port of HTTP",
        ["Host": "localhost", "Origin": "https://localhost:80"],
        403),
      Asker(
        "another site's script", ["Host": "localhost:9800", "Origin": "http://evil.example"], 403),
      Asker(
        "a page of another port", ["Host": "localhost:9800", "Origin": "http://localhost:80"], 403),
      Asker("a page without an origin", ["Host": "localhost:9800", "Origin": "null"], 403),
      Asker(
        "another site's picture",
        ["Host": "localhost:9800", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"], 403
      ),
      Asker(
        "a page of the same domain",
        ["Host": "localhost:9800", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"], 403),
      Asker(
        "a link on another site",
        ["Host": "localhost:9800", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"],
        200
      ),
      Asker(
        "the page's own script",
        ["Host": "localhost:9800", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"], 200),
      Asker("a form", ["Host": "localhost:9800"], method: .POST, 405),
      Asker("one that deletes", ["Host": "localhost:9800"], method: .DELETE, 405),
      Asker("a question before a request", ["Host": "localhost:9800"], method: .OPTIONS, 405),
      Asker("a program that wants the head alone", ["Host": "localhost:9800"], method: .HEAD, 200),
    ])
  func local(_ asker: Asker) {
    let rules = AccessRules(names: ["nvr"], token: nil, port: 9800)
    #expect(Self.status(of: rules.decide(on: asker.head)) == asker.status)
  }

  @Test("from another machine") func remote() {
    let token = AccessToken()
    let rules = AccessRules(names: [], token: token, port: 9800)
    let askers = [
      Asker("without", ["Host": "10.0.0.2:9800"], 401),
      Asker("with it in the address", ["Host": "10.0.0.2:9800"], uri: "/?token=\(token.text)", 303),
      Asker(
        "a program with it in the address", ["Host": "10.0.0.2:9800"],
        uri: "/cameras/a/snapshot.jpg?token=\(token.text)", 200),
      Asker("with another", ["Host": "10.0.0.2:9800"], uri: "/?token=\(AccessToken().text)", 401),
      Asker("with a part", ["Host": "10.0.0.2"], uri: "/?token=\(token.text.dropLast())", 401),
      Asker("with nothing", ["Host": "10.0.0.2:9800"], uri: "/?token=", 401),
      Asker(
        "with a cookie", ["Host": "10.0.0.2", "Cookie": "a=b; rtp-recv-9800=\(token.text)"], 200),
      Asker("of another port", ["Host": "10.0.0.2", "Cookie": "rtp-recv-9801=\(token.text)"], 401),
      Asker("a scraper", ["Host": "10.0.0.2", "Authorization": "Bearer \(token.text)"], 200),
      Asker("another scheme", ["Host": "10.0.0.2", "Authorization": "Basic \(token.text)"], 401),
      Asker(
        "another site with it", ["Host": "10.0.0.2", "Origin": "http://evil.example"],
        uri: "/?token=\(token.text)", 403),
      Asker(
        "another name with it", ["Host": "evil.example"], uri: "/?token=\(token.text)", 421),
      Asker(
        "a program by another name with it", ["Host": "cameras.example"],
        uri: "/cameras/a/snapshot.jpg?token=\(token.text)", 200),
      Asker(
        "a scraper by another name with it", ["Host": "cameras.example"],
        uri: "/metrics?token=\(token.text)", 200),
      Asker(
        "a program by another name with another", ["Host": "cameras.example"],
        uri: "/cameras/a/snapshot.jpg?token=\(AccessToken().text)", 421),
      Asker(
        "another site that has a program's address",
        ["Host": "cameras.example", "Origin": "https://evil.example"],
        uri: "/cameras/a/snapshot.jpg?token=\(token.text)", 403),
    ]
    for asker in askers {
      let decision = rules.decide(on: asker.head)
      #expect(Self.status(of: decision) == asker.status, "\(asker.testDescription)")
      guard case .keepsToken(let cookie, let path) = decision else { continue }
      #expect(path == "/")
      #expect(cookie.contains("HttpOnly; SameSite=Lax"))
    }
    let scraper = Asker(
      "a scraper by another name",
      ["Host": "cameras.example", "Authorization": "Bearer \(token.text)"], 200)
    #expect(Self.status(of: rules.decide(on: scraper.head)) == 200)
    let behindProxy = Asker(
      "another site behind a proxy that adds it",
      [
        "Host": "cameras.example", "Origin": "https://evil.example",
        "Authorization": "Bearer \(token.text)",
      ], 403)
    #expect(Self.status(of: rules.decide(on: behindProxy.head)) == 403)
  }

  @Test("whoever asks by a name that is not known here reads what to do", arguments: [false, true])
  func unknownName(needsToken: Bool) {
    let rules = AccessRules(names: [], token: needsToken ? AccessToken() : nil, port: 9800)
    let asker = Asker("a browser", ["Host": "nvr.example:9800"], 421)
    guard case .refused(_, let words) = rules.decide(on: asker.head) else {
      Issue.record("not refused")
      return
    }
    #expect(words.contains("ask by an address of this machine"))
    #expect(words.contains("Bearer") == needsToken)
  }

  @Test(
    "whoever brings the token goes on here, with all else that was asked",
    arguments: [
      ("/?token=", "/"), ("//evil.example/?token=", "/"), ("http://evil.example/x?token=", "/"),
      ("/\\evil.example?token=", "/"),
      ("/?a=2&token=", "/?a=2"),
    ])
  func goingOn(uri: String, place: String) throws {
    let token = AccessToken()
    let rules = AccessRules(names: [], token: token, port: 9800)
    var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: uri + token.text)
    head.headers.add(name: "Host", value: "10.0.0.2:9800")
    guard case .keepsToken(_, let path) = rules.decide(on: head) else {
      Issue.record("not with the token")
      return
    }
    #expect(path == place)
  }

  @Test(
    "paths that lead out, or nowhere",
    arguments: [
      "/../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/cameras/../snapshot.jpg",
      "/cameras/%2e%2e/snapshot.jpg", "/cameras/a/b/snapshot.jpg", "/cameras//snapshot.jpg",
      "http://evil.example/", "*", "",
    ])
  func traversal(_ path: String) {
    var routes = Routes()
    PageFiles.add(to: &routes)
    routes.add(from: "/cameras/", to: "/snapshot.jpg") { _, _ in .notFound }
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path)
    #expect(routes.answering(Request(head)) == nil)
  }

  @Test func aCamerasNameIsTakenFromThePath() async {
    var routes = Routes()
    routes.add(from: "/cameras/", to: "/snapshot.jpg") { name, request in
      .wrong("\(name) \(request.query["max-age"] ?? "")")
    }
    let head = HTTPRequestHead(
      version: .http1_1, method: .GET, uri: "/cameras/front-1/snapshot.jpg?max-age=2")
    let answer = await routes.answering(Request(head))?()
    #expect(answer.map { String(buffer: $0.body) } == "front-1 2\n")
  }
}

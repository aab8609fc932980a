public import NIOCore
import NIOHTTP1

/// What is sent back for a request.
public struct Answer: Sendable {
  var status: HTTPResponseStatus
  var headers: [(name: String, value: String)]
  let body: ByteBuffer

  /// The answer to a request that can be met.
  ///
  /// - Parameters:
  ///   - contentType: the media type of `body`.
  ///   - body: all of it.
  ///   - headers: others, beside those that every answer has.
  public init(
    contentType: String, body: ByteBuffer, headers: [(name: String, value: String)] = []
  ) {
    status = .ok
    self.body = body
    self.headers = [("Content-Type", contentType)] + headers
  }

  init(_ status: HTTPResponseStatus, _ words: String) {
    self.init(contentType: "text/plain; charset=utf-8", body: ByteBuffer(string: words + "\n"))
    self.status = status
  }

  /// There is no such thing.
  public static var notFound: Answer { Answer(.notFound, "there is no such page") }

  /// What is asked for cannot be had now; `words` say why.
  public static func unavailable(_ words: String) -> Answer {
    var answer = Answer(.serviceUnavailable, words)
    answer.headers.append(("Retry-After", "1"))
    return answer
  }

  /// The request makes no sense; `words` say why.
  public static func wrong(_ words: String) -> Answer { Answer(.badRequest, words) }

  init(to decision: AccessRules.Decision) {
    switch decision {
    case .allowed: self = .notFound
    case .keepsToken(let cookie, let path):
      self.init(.seeOther, "go on without the token")
      headers += [("Set-Cookie", cookie), ("Location", path)]
    case .refused(let status, let words):
      self.init(status, words)
      if status == .methodNotAllowed { headers.append(("Allow", "GET, HEAD")) }
      if status == .unauthorized { headers.append(("WWW-Authenticate", "Bearer")) }
    }
  }

  /// The head with what holds for all answers: no other site may embed, read or guess them, and
  /// nothing comes from elsewhere.
  var head: HTTPResponseHead {
    var all = HTTPHeaders(headers.map { ($0.name, $0.value) })
    all.add(name: "Content-Length", value: "\(body.readableBytes)")
    for (name, value) in Self.protection { all.add(name: name, value: value) }
    return HTTPResponseHead(version: .http1_1, status: status, headers: all)
  }

  private static let protection = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        + "img-src 'self' blob:; media-src blob:; frame-ancestors 'none'; base-uri 'none'; "
        + "form-action 'none'"
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
  ]
}

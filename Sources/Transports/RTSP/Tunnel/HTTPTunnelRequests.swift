internal import NIOCore

/// The two requests that open RTSP in HTTP: a GET, whose answer brings what the server sends, and a
/// POST, whose body takes what it is sent.
///
/// No RFC has them. QuickTime brought them; live555, GStreamer and Axis follow it.
struct HTTPTunnelRequests: Sendable, Hashable {
  /// The type of both bodies.
  static let contentType = "application/x-rtsp-tunnelled"

  private let target: String
  private let host: String
  private let getAuthorization: String?
  private let postAuthorization: String?

  /// For the server and the path of `url`; the fields answer a challenge of HTTP.
  init(to url: ServerURL, getAuthorization: String? = nil, postAuthorization: String? = nil) {
    target = Self.target(of: url)
    host = String(url.origin.drop { $0 != ":" }.dropFirst(3))
    self.getAuthorization = getAuthorization
    self.postAuthorization = postAuthorization
  }

  /// The path in the request lines.
  static func target(of url: ServerURL) -> String {
    url.path.hasPrefix("/") ? url.path : "/" + url.path
  }

  /// The GET; by its `cookie` the server knows which POST belongs to it.
  func get(cookie: String) -> ByteBuffer {
    request("GET", cookie, [("Accept", Self.contentType)], getAuthorization)
  }

  /// The POST up to its body, which is longer than announced.
  ///
  /// FFmpeg, GStreamer and live555 announce the same length and go on behind it, so servers do not
  /// count.
  func post(cookie: String) -> ByteBuffer {
    request(
      "POST", cookie,
      [
        ("Content-Type", Self.contentType), ("Content-Length", "32767"),
        ("Expires", "Sun, 9 Jan 1972 00:00:00 GMT"),
      ], postAuthorization)
  }

  private func request(
    _ method: String, _ cookie: String, _ fields: [(String, String)], _ authorization: String?
  ) -> ByteBuffer {
    var request = RTSPRequest(method: method, uri: target)
    let all =
      [("Host", host), ("User-Agent", RTSPSession.userAgent), ("x-sessioncookie", cookie)]
      + fields + [("Pragma", "no-cache"), ("Cache-Control", "no-cache")]
      + (authorization.map { [("Authorization", $0)] } ?? [])
    for (name, value) in all { request.headers.add(name, value) }
    return request.encoded(version: "HTTP/1.0")
  }
}

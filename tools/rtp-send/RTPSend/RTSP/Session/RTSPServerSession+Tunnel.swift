import Impairment
import NIOCore

/// RTSP in HTTP: the answer to a client's GET carries what it is sent, the body of its POST, in
/// base64, what it sends.
///
/// No RFC has it. QuickTime brought it, and GStreamer, FFmpeg and live555 do the same.
extension RTSPServerSession {
  /// GStreamer's has 23 letters, FFmpeg's and ours 16.
  static let longestCookie = 128

  /// The answer to ``Action/openTunnel(_:_:)``.
  enum TunnelOutcome: Sendable, Hashable {
    case opened
    /// Headers that ask for a login.
    case challenged([String])
    /// Another client has this cookie.
    case taken
  }

  mutating func tunnel(_ request: RTSPRequest) {
    guard sessions.isEmpty, let cookie = request["x-sessioncookie"],
      (1...Self.longestCookie).contains(cookie.utf8.count)
    else { return refuseHTTP(.badRequest) }
    switch request.method {
    case "GET":
      pending = .tunnel
      act(.openTunnel(cookie, request))
    case "POST":
      pending = .tunnel
      act(.joinTunnel(cookie))
    default: refuseHTTP(.notImplemented)
    }
  }

  /// Whether requests will come by the POST with the same cookie.
  mutating func tunnelOpened(_ outcome: TunnelOutcome) {
    guard case .tunnel = pending else { return }
    pending = nil
    switch outcome {
    case .opened:
      // Nothing more is expected behind the GET.
      discardUnread()
      var headers = [
        ("Connection", "close"), ("Cache-Control", "no-store"), ("Pragma", "no-cache"),
        ("Content-Type", "application/x-rtsp-tunnelled"),
      ]
      if configuration.quirks.contains(.tunnelAddress) {
        headers.append(("x-server-ip-address", "127.0.0.1"))
      }
      answerHTTP(.ok, headers)
    case .challenged(let challenges):
      refuseHTTP(.unauthorized, challenges.map { ("WWW-Authenticate", $0) })
    case .taken: refuseHTTP(.badRequest)
    }
  }

  /// There is no GET with the cookie of the POST.
  mutating func tunnelMissing() {
    guard case .tunnel = pending else { return }
    pending = nil
    refuseHTTP(.notFound)
  }

  private mutating func refuseHTTP(_ status: RTSPStatus, _ headers: [(String, String)] = []) {
    answerHTTP(status, [("Connection", "close")] + headers)
    close()
  }

  private mutating func answerHTTP(_ status: RTSPStatus, _ headers: [(String, String)]) {
    var lines = ["HTTP/1.0 \(status.rawValue) \(status.reason)", "Server: rtp-send"]
    lines += headers.map { "\($0.0): \($0.1)" }
    act(.send(RTSPText(lines: lines, body: []).bytes))
  }
}

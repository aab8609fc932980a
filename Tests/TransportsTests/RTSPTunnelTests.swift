import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// RTSP in HTTP with servers on this machine.
struct RTSPTunnelTests {
  private typealias Service = TunnelFarEnd.Service

  /// A server that sends a packet once it plays, with `portion` bytes at a time until then.
  private func serve(_ service: Service, portion: Int? = nil) async throws -> RTSPFarEnd {
    var script = RTSPFarEnd.Script()
    script.portion = portion
    script.played = { $0.send(frame: rtp(1)) }
    return try await RTSPFarEnd("127.0.0.1", script, tunnel: service)
  }

  @Test("the server's bytes come in any pieces", arguments: [nil, 1])
  func wholeSession(portion: Int?) async throws {
    let service = Service()
    let server = try await serve(service, portion: portion)
    let transport = try RTSPTransport(server.url, .http)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(try await sink.datagrams.first(1)[0].bytes == rtp(1))
    transport.sendFeedback(senderReport(ssrc: 9), track: 0)
    #expect(try await server.frames.first(1)[0].bytes == senderReport(ssrc: 9))
    let lines = service.heads.elements.map { $0.components(separatedBy: "\r\n")[0] }
    #expect(lines == ["GET /stream HTTP/1.0", "POST /stream HTTP/1.0"])
    let cookies = service.values(of: "x-sessioncookie")
    #expect(Set(cookies).count == 1 && cookies[0].count == 16, "\(cookies)")
    #expect(service.values(of: "Host") == Array(repeating: "127.0.0.1:\(server.port)", count: 2))
    transport.close()
    // OPTIONS, DESCRIBE, two SETUPs and PLAY come before it.
    #expect(try await server.requests.first(6).last?.method == "TEARDOWN")
    _ = try await service.uploadsClosed.first(1)
    _ = try await server.closed.first(2)
    try await server.close()
  }

  @Test func aPostThatIsClosedIsFollowedByAnother() async throws {
    let service = Service(closesUploads: true)
    let server = try await serve(service)
    let transport = try RTSPTransport(server.url, .http) { $0.selection = .firstVideo }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.datagrams.first(1)
    #expect(server.requests.elements.map(\.method) == ["OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
    let cookies = service.values(of: "x-sessioncookie")
    #expect(cookies.count == 5 && Set(cookies).count == 1)
    transport.close()
    try await server.close()
  }

  @Test func theLoginIsThatOfHTTPForBothRequests() async throws {
    let digest = #"Digest realm="r", nonce="n", qop="auth""#
    let service = Service { head, number in
      switch number {
      case 0: "HTTP/1.0 401 Unauthorized\r\nWWW-Authenticate: \(digest)\r\n\r\n"
      case 1: Service.opening
      default: nil
      }
    }
    let server = try await serve(service)
    let transport = try RTSPTransport(server.url, .http) {
      $0.credentials = Credentials(user: "u", password: "p")
    }
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.datagrams.first(1)
    let fields = service.values(of: "Authorization")
    #expect(service.heads.elements.map { $0.prefix(4) } == ["GET ", "GET ", "POST"])
    #expect(fields[0].isEmpty)
    let answers = fields.dropFirst().map { AuthenticationChallenge.parse([$0])[0].parameters }
    #expect(answers.map { $0["uri"] } == ["/stream", "/stream"])
    #expect(answers.map { $0["nc"] } == ["00000001", "00000002"])
    #expect(answers[0]["response"] != answers[1]["response"])
    transport.close()
    try await server.close()
  }

  private static let realm = "HTTP/1.0 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\r\n"

  @Test(
    arguments: [
      ("HTTP/1.0 404 Not Found\r\n\r\n", .refused(method: "GET", status: 404, reason: "Not Found")),
      (
        "HTTP/1.1 302 Found\r\nLocation: http://h/\r\n\r\n",
        .refused(method: "GET", status: 302, reason: "Found")
      ),
      ("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", .notTunnelled),
      ("HTTP/1.0 204 No Content\r\n\r\n", .notTunnelled),
      ("RTSP/1.0 400 Bad Request\r\n\r\n", .notTunnelled),
      ("SSH-2.0-OpenSSH_9.2\r\n", .notTunnelled),
      (
        "HTTP/1.0 200 OK\r\nX: " + String(repeating: "x", count: 9000),
        .messageTooLarge(what: "line", limit: 8 << 10)
      ),
      (realm, .credentialsMissing(realm: "r")),
      ("HTTP/1.0 401 No\r\n\r\n", .authenticationUnsupported(schemes: [])),
    ] as [(String, RTSPError)])
  func whatIsNoTunnel(answer: String, error: RTSPError) async throws {
    let service = Service { _, _ in answer }
    try await expect(error, service)
  }

  @Test func aPasswordThatIsRefusedIsTriedOnce() async throws {
    let service = Service { _, _ in Self.realm }
    try await expect(.credentialsRefused(realm: "r"), service) {
      $0.credentials = Credentials(user: "u", password: "p")
    }
    #expect(service.values(of: "Authorization") == ["", "Basic dTpw"])
  }

  @Test func aPostThatIsRefused() async throws {
    let service = Service { head, _ in
      head.hasPrefix("GET") ? Service.opening : "HTTP/1.0 403 Forbidden\r\n\r\n"
    }
    try await expect(.refused(method: "POST", status: 403, reason: "Forbidden"), service)
  }

  @Test(arguments: ["GET", "POST"])
  func aRefusalThatRepeatsThePassword(method: String) async throws {
    let service = Service { head, number in
      if number == 0 { return Self.realm }
      guard head.hasPrefix(method) else { return Service.opening }
      return "HTTP/1.0 500 Basic dTpodW50ZXIy\r\n\r\n"
    }
    try await expect(.refused(method: method, status: 500, reason: ""), service) {
      $0.credentials = Credentials(user: "u", password: "hunter2")
    }
  }

  @Test("a reset while the tunnel opens is the end of the connection, in words of this program")
  func reset() async throws {
    let service = Service { _, _ in nil }
    let server = try await serve(service)
    let transport = try RTSPTransport(server.url, .http)
    let opening = Task { try await transport.open(delivering: RecordingSink()) }
    _ = try await service.heads.first(1)
    try await server.reset()
    await #expect(throws: RTSPError.connectionClosed) { try await opening.value }
    try await server.close()
  }

  /// The session takes it that it began elsewhere; so this address is like a name for it, which
  /// shows where it leads only when it is connected to.
  @Test func aServerOfThisMachineIsAskedNothingWhenADistantOneRedirectsToIt() async throws {
    let service = Service()
    let server = try await serve(service)
    let origin = try ServerURL(parsing: "rtsp://127.0.0.1:1/live", as: .rtspInHTTP)
    let target = server.url
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let opening = eventLoop.flatSubmit {
      var configuration = RTSPConfiguration()
      configuration.lowerTransport = .http
      let receiver = RTSPReceiver(
        origin, credentials: nil, configuration: configuration,
        sockets: UDPTransport.SocketConfiguration(), purpose: .play, on: eventLoop,
        delivering: RecordingSink())
      let now = Instant(NIODeadline.now())
      receiver.session.connectionReached(isInside: false)
      receiver.session.connectionOpened(at: now)
      receiver.session.redirect(to: target, at: now)
      return receiver.start()
    }
    await #expect(throws: RTSPError.redirectRefused(to: target)) { try await opening.get() }
    _ = try await server.closed.first(1)
    #expect(service.heads.elements.isEmpty)
    try await server.close()
  }

  private func expect(
    _ error: RTSPError, _ service: TunnelFarEnd.Service,
    configure: (inout RTSPConfiguration) -> Void = { _ in }
  ) async throws {
    let server = try await serve(service)
    let transport = try RTSPTransport(server.url, .http, configure: configure)
    await #expect(throws: error) { try await transport.open(delivering: RecordingSink()) }
    try await server.close()
  }

  @Test(arguments: [
    ("rtsp://camera/live", 80, "camera"), ("rtsps://camera/live", 443, "camera"),
    ("rtsp://camera:554/live", 554, "camera:554"), ("rtsp://[::1]/live", 80, "[::1]"),
    ("camera:8080", 8080, "camera:8080"),
  ])
  func thePortIsThatOfHTTP(source: String, port: Int, host: String) throws {
    let source = source.contains("://") ? source : "rtsp://" + source
    let url = try RTSPTransport(source, .http).url
    #expect(url.port == port)
    let get = String(buffer: HTTPTunnelRequests(to: url).get(cookie: "c"))
    #expect(get.contains("\r\nHost: \(host)\r\n"), "\(get)")
    #expect(get.hasPrefix("GET \(source.hasSuffix("live") ? "/live" : "/") HTTP/1.0\r\n"))
  }
}

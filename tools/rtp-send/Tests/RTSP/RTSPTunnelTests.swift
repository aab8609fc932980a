import Foundation
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import RTPSend

/// RTSP in HTTP: what clients ask for, and what they must not get.
@Suite(.serialized)
struct RTSPTunnelTests {
  typealias Viewer = RTSPServingTests.Viewer

  private static func head(_ method: String, _ cookie: String?) -> String {
    let field = cookie.map { "x-sessioncookie: \($0)\r\n" } ?? ""
    return "\(method) /live HTTP/1.0\r\n\(field)Content-Length: 32767\r\n\r\n"
  }

  private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

  @Test func theGetIsAnsweredAndRequestsAreThenAsEver() {
    var conversation = Conversation()
    let answer = conversation.send(Self.head("GET", "abc"))
    #expect(answer.hasPrefix("HTTP/1.0 200 OK\r\n"))
    #expect(Conversation.header("Content-Type", in: answer) == "application/x-rtsp-tunnelled")
    let response = conversation.ask("DESCRIBE", "rtsp://192.0.2.1:8554/live")
    #expect(Conversation.status(response) == 200)
    #expect(conversation.done == ["open tunnel abc", "describe 0"])
  }

  @Test func whatFollowsThePostIsNotRead() {
    var conversation = Conversation()
    let answer = conversation.send(Self.head("POST", "abc") + "T1BU")
    #expect(answer.isEmpty)
    #expect(conversation.done == ["join tunnel abc"])
    #expect(String(buffer: conversation.unread) == "T1BU")
  }

  @Test(arguments: [
    (head("GET", nil), 400), (head("GET", ""), 400),
    (head("GET", String(repeating: "x", count: 129)), 400), (head("POST", nil), 400),
    (head("PUT", "abc"), 501), ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
  ])
  func whatIsNoTunnelEndsTheConnection(request: String, status: Int) {
    var conversation = Conversation()
    let answer = conversation.send(request)
    #expect(answer.hasPrefix("HTTP/1.0 \(status) "))
    #expect(conversation.done == ["close"])
  }

  @Test func aSessionThatHasBegunGoesIntoNoTunnel() {
    var conversation = Conversation()
    _ = conversation.setUp("rtsp://192.0.2.1:8554/live/trackID=1")
    #expect(conversation.send(Self.head("GET", "abc")).hasPrefix("HTTP/1.0 400 "))
    #expect(conversation.session.isClosed)
  }

  @Test(
    arguments: [
      (.taken, 400), (.challenged(["Basic realm=\"r\""]), 401),
    ] as [(RTSPServerSession.TunnelOutcome, Int)])
  func whatIsRefusedEndsTheConnection(outcome: RTSPServerSession.TunnelOutcome, status: Int) {
    var conversation = Conversation()
    conversation.tunnelOutcome = outcome
    let answer = conversation.send(Self.head("GET", "abc"))
    #expect(answer.hasPrefix("HTTP/1.0 \(status) "))
    #expect((Conversation.header("WWW-Authenticate", in: answer) != nil) == (status == 401))
    #expect(conversation.session.isClosed)
  }

  @Test func aTunnelThatNobodyUsesEnds() {
    var conversation = Conversation()
    conversation.send(Self.head("GET", "abc"))
    conversation.wait(seconds: 59)
    #expect(!conversation.session.isClosed)
    conversation.wait(seconds: 2)
    #expect(conversation.session.isClosed)
  }

  @Test func nothingIsReadWhileTheAnswersAreNotTaken() throws {
    let loop = EmbeddedEventLoop()
    let server = EmbeddedClient.server(on: loop, report: loop.makePromise())
    let download = try EmbeddedClient(of: server, on: loop)
    try download.send(Self.head("GET", "abc"))
    let upload = try EmbeddedClient(of: server, on: loop)
    try upload.send(Self.head("POST", "abc"))
    upload.channel.read()
    #expect(upload.reads.count == 1)
    download.isTaking = false
    upload.channel.read()
    download.channel.read()
    // Only the end of the connection that brings nothing is noticed.
    #expect(upload.reads.count == 1)
    #expect(download.reads.count == 1)
    download.isTaking = true
    #expect(upload.reads.count == 2)
    try download.channel.close().wait()
    loop.run()
    #expect(!upload.channel.isActive)
  }

  // MARK: On loopback

  private func serve() async throws -> (Sender, String) {
    let tests = RTSPServingTests()
    return try await tests.serve([try tests.stream("live", tests.pattern)])
  }

  /// Opens a tunnel; returns the connection that brings what the server sends.
  private func download(_ sender: Sender, _ cookie: String) async throws -> Viewer {
    let viewer = try await Viewer(sender.localAddress)
    viewer.send(Self.head("GET", cookie))
    try await eventually("the tunnel is open") {
      String(decoding: viewer.bytes, as: UTF8.self).hasSuffix("\r\n\r\n")
    }
    return viewer
  }

  private static func request(_ method: String, _ url: String, _ fields: String...) -> String {
    base64(
      (["\(method) \(url) RTSP/1.0", "CSeq: 1"] + fields + ["", ""]).joined(separator: "\r\n"))
  }

  @Test func aStreamIsPlayedAndGoesOnBehindAnotherPost() async throws {
    let (sender, base) = try await serve()
    let download = try await download(sender, "abc")
    let upload = try await Viewer(sender.localAddress)
    // The end of a message and the beginning of the next may come in one piece.
    upload.send(
      Self.head("POST", "abc")
        + Self.request("SETUP", base + "live", "Transport: RTP/AVP/TCP;unicast"))
    upload.send(Self.request("PLAY", base + "live"))
    try await eventually("packets come") { try download.packets().count > 10 }
    let next = try await Viewer(sender.localAddress)
    next.send(Self.head("POST", "abc") + Self.request("PAUSE", base + "live"))
    try await eventually("the first POST is done with") { !upload.isOpen }
    try await eventually("the pause is answered") {
      String(decoding: download.bytes, as: UTF8.self).ranges(of: "RTSP/1.0 200 OK").count == 3
    }
    await download.close()
    try await eventually("nothing stays behind") { !next.isOpen }
    sender.stop()
    let report = try await withDeadline { try await sender.finished() }
    #expect(report.clients == 1)
    await upload.close()
    await next.close()
  }

  @Test func hostileClientsLeaveTheOthersAlone() async throws {
    let (sender, base) = try await serve()
    let good = try await Viewer(sender.localAddress)
    _ = try await good.play(base + "live")
    let stranger = try await Viewer(sender.localAddress)
    stranger.send(Self.head("POST", "nobody's") + Self.request("OPTIONS", "*"))
    try await eventually("a POST without its GET is refused") {
      !stranger.isOpen && String(decoding: stranger.bytes, as: UTF8.self).contains(" 404 ")
    }
    let first = try await download(sender, "abc")
    let second = try await Viewer(sender.localAddress)
    second.send(Self.head("GET", "abc"))
    try await eventually("a cookie is one client's") { !second.isOpen && first.isOpen }
    let broken = try await Viewer(sender.localAddress)
    broken.send(Self.head("POST", "abc") + "OPTIONS * RTSP/1.0\r\n\r\n")
    try await eventually("what is not base64 ends both") { !broken.isOpen && !first.isOpen }
    let count = try good.packets().count
    try await eventually("the good one is served", within: .seconds(60)) {
      try good.packets().count > count + 60
    }
    for viewer in [stranger, first, second, broken] { await viewer.close() }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await good.close()
  }
}

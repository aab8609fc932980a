import NIOCore
import TestSupport
import Testing

@testable import RTPSend

/// What an RTSP proxy reads and changes.
@Suite struct RTSPRewritingTests {
  static let conversation = ByteBuffer(
    string: "OPTIONS rtsp://proxy:8554/a RTSP/1.0\r\nCSeq: 1\r\n\r\n\r\n"
      + "$\u{0}\u{0}\u{3}abc"
      + "ANNOUNCE rtsp://proxy:8554/a RTSP/1.0\nCSeq: 2\nContent-Length: 4\n\nv=0\n"
      + "$\u{1}\u{0}\u{0}" + "RTSP/1.0 200 OK\r\nCSeq: 3\r\n\r\n")

  static let pieces: [RTSPPieces.Piece] = [
    .message(RTSPText(lines: ["OPTIONS rtsp://proxy:8554/a RTSP/1.0", "CSeq: 1"], body: [])),
    .frame(channel: 0, ByteBuffer(string: "abc")),
    .message(
      RTSPText(
        lines: ["ANNOUNCE rtsp://proxy:8554/a RTSP/1.0", "CSeq: 2", "Content-Length: 4"],
        body: Array("v=0\n".utf8))),
    .frame(channel: 1, ByteBuffer()),
    .message(RTSPText(lines: ["RTSP/1.0 200 OK", "CSeq: 3"], body: [])),
  ]

  @Test(arguments: [1, 2, 3, 7, 1000]) func bytesComeInAnyPieces(size: Int) {
    var pieces = RTSPPieces()
    var found: [RTSPPieces.Piece] = []
    var rest = Self.conversation
    while rest.readableBytes > 0 {
      guard let part = rest.readSlice(length: min(size, rest.readableBytes)) else { return }
      pieces.append(part)
      while let piece = pieces.next() { found.append(piece) }
    }
    #expect(found == Self.pieces)
  }

  @Test(arguments: UInt64(1)...200) func anyBytesArePassedOn(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var bytes = Array(Self.conversation.readableBytesView)
    for _ in 0..<generator.number(upTo: 6) {
      let index = generator.integer(below: bytes.count)
      bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
    }
    var pieces = RTSPPieces()
    pieces.append(ByteBuffer(bytes: bytes))
    var count = 0
    while let piece = pieces.next() {
      count += 1
      if case .unknown(let rest) = piece { #expect(rest.readableBytes > 0) }
      #expect(count < 1000)
    }
  }

  @Test func emptyLinesWithoutEndAreSkipped() {
    var pieces = RTSPPieces()
    pieces.append(ByteBuffer(string: String(repeating: "\r\n", count: 500_000)))
    pieces.append(Self.conversation)
    #expect(pieces.next() == Self.pieces.first)
  }

  @Test func aHeadWithoutEndIsPassedOn() {
    var pieces = RTSPPieces()
    for _ in 0...RTSPPieces.longestHead / 64 {
      pieces.append(ByteBuffer(string: String(repeating: "A", count: 64)))
    }
    guard case .unknown(let bytes) = pieces.next() else {
      Issue.record("it waits for more")
      return
    }
    #expect(bytes.readableBytes == RTSPPieces.longestHead + 64)
  }

  private func request(_ transport: String) -> RTSPText {
    RTSPText(
      lines: ["SETUP rtsp://proxy:8554/a RTSP/1.0", "CSeq: 4", "transport: \(transport)"], body: [])
  }

  @Test(arguments: [
    ("RTP/AVP;unicast;client_port=5000-5001", "RTP/AVP;unicast;client_port=7000-7001"),
    ("RTP/AVP/UDP;unicast;client_port=5000", "RTP/AVP/UDP;unicast;client_port=7000-7001"),
    (
      "RTP/AVP/TCP;interleaved=0-1,RTP/AVP;unicast;destination=10.0.0.1;client_port=5000-5001",
      "RTP/AVP/TCP;interleaved=0-1,RTP/AVP;unicast;client_port=7000-7001"
    ),
  ])
  func theServerSendsToTheProxy(before: String, after: String) throws {
    var request = request(before)
    let ports = try #require(RTSPRewriting.clientPorts(in: request))
    #expect(ports.media == 5000 && ports.control == 5001)
    RTSPRewriting.set(clientPort: 7000, in: &request)
    #expect(request["Transport"] == after)
  }

  @Test(arguments: [
    "RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP;multicast", "RTP/AVP;client_port=0-1",
    "RTP/AVP;client_port=70000-70001", "RTP/AVP;client_port=", "",
  ])
  func otherTransportsStayAsTheyAre(transport: String) {
    #expect(RTSPRewriting.clientPorts(in: request(transport)) == nil)
  }

  @Test func theClientSendsToTheProxy() throws {
    var response = RTSPText(
      lines: [
        "RTSP/1.0 200 OK", "CSeq: 4",
        "Transport: RTP/AVP;unicast;client_port=7000-7001;server_port=6000-6001;"
          + "source=10.0.0.2;ssrc=1A2B",
      ], body: [])
    let server = try #require(RTSPRewriting.server(in: response))
    #expect(server.source == "10.0.0.2")
    #expect(server.ports?.media == 6000 && server.ports?.control == 6001)
    RTSPRewriting.set(
      serverPort: 7002, address: "10.0.0.9", clientPorts: (5000, 5001), in: &response)
    #expect(
      response["Transport"]
        == "RTP/AVP;unicast;client_port=5000-5001;server_port=7002-7003;source=10.0.0.9;ssrc=1A2B")
    response.lines[0] = "RTSP/1.0 461 Unsupported Transport"
    #expect(RTSPRewriting.server(in: response) == nil)
  }

  private func answer(_ lines: [String]) -> RTSPText {
    RTSPText(lines: ["RTSP/1.0 200 OK", "CSeq: 4"] + lines, body: [])
  }

  /// A server need not say from which ports it sends.
  @Test(
    arguments: [
      (["Transport: RTP/AVP;unicast;client_port=7000-7001"], nil),
      (["Transport: RTP/AVP/UDP; unicast; source=10.0.0.2"], "10.0.0.2"),
      ([], nil),
    ] as [([String], String?)])
  func mediaComesInDatagramsWithoutPortsOfTheServer(lines: [String], source: String?) throws {
    var response = answer(lines)
    let server = try #require(RTSPRewriting.server(in: response))
    #expect(server.source == source && server.ports == nil)
    RTSPRewriting.set(
      serverPort: 7002, address: "10.0.0.9", clientPorts: (5000, 5001), in: &response)
    #expect(response["Transport"]?.contains("client_port=7000") != true)
  }

  @Test(arguments: [
    "RTP/AVP/TCP;unicast", "RTP/AVP;unicast;interleaved=0-1", "RTP/AVP;multicast;port=5000-5001",
  ])
  func otherMediaDoesNotComeInDatagrams(transport: String) {
    #expect(RTSPRewriting.server(in: answer(["Transport: \(transport)"])) == nil)
  }

  @Test func urlsOfTheServerLeadToTheProxy() {
    var rewriting = RTSPRewriting(
      server: ["camera", "10.0.0.2"], port: 554, proxy: "127.0.0.1:8554")
    rewriting.note(
      request: RTSPText(lines: ["DESCRIBE rtsp://u:p@localhost:8554/a RTSP/1.0"], body: []))
    let body =
      "v=0\r\na=control:rtsp://10.0.0.2/a/\r\nm=video 0 RTP/AVP 96\r\n"
      + "a=control:RTSP://x rtsp://Camera:554/a/track1\r\na=control:rtsp://other:554/b\r\n"
    var response = RTSPText(
      lines: [
        "RTSP/1.0 200 OK", "Content-Base: rtsp://camera/a/", "Content-Type: application/sdp",
        "Content-Length: \(body.utf8.count)",
        "RTP-Info: url=rtsp://10.0.0.2:554/a/1;seq=1,url=rtsp://camera/a/2;seq=2",
      ], body: Array(body.utf8))
    rewriting.redirect(&response)
    #expect(response["Content-Base"] == "rtsp://localhost:8554/a/")
    #expect(
      response["RTP-Info"]
        == "url=rtsp://localhost:8554/a/1;seq=1,url=rtsp://localhost:8554/a/2;seq=2")
    let text = String(decoding: response.body, as: UTF8.self)
    #expect(text.contains("control:rtsp://localhost:8554/a/\r\n"))
    #expect(text.contains("rtsp://localhost:8554/a/track1"))
    #expect(text.contains("rtsp://other:554/b"))
    #expect(response["Content-Length"] == "\(response.body.count)")
  }
}

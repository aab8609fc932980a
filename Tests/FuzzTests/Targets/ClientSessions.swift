import NIOCore
import RTPWire

@testable import Transports

extension FuzzTarget {
  /// The RTSP client: a server that answers anything, at any time.
  static let client = FuzzTarget("rtsp-client") { choices in
    var server = HostileServer(&choices)
    try server.run(&choices)
  }
}

private struct HostileServer {
  private var session: RTSPSession
  private var now = Instant(nanoseconds: 0)
  private var pending: [RTSPRequest] = []
  private var isOver = false
  private var requests = 0
  private var connections = 0

  init(_ choices: inout Choices) {
    var configuration = RTSPConfiguration()
    configuration.lowerTransport = choices.pick([.automatic, .tcp, .udp, .multicast])
    let url = try? ServerURL(parsing: "rtsp://camera:8554/live")
    session = RTSPSession(
      configuration: configuration,
      url: url ?? { fatalError("the URL of the fuzzer is none") }(),
      credentials: choices.flag() ? Credentials(user: "user", password: "a long secret") : nil,
      purpose: choices.flag() ? .describe : .play, randomness: SplitMix64(seed: 1), at: now)
  }

  mutating func run(_ choices: inout Choices) throws {
    try perform(&choices)
    var steps = 0
    while !isOver, !choices.isEmpty {
      steps += 1
      switch choices.byte() % 10 {
      case 0...4: session.receive(answer(&choices), at: now)
      case 5:
        session.receive(
          RTSPRequest(
            method: choices.pick(["OPTIONS", "REDIRECT", "ANNOUNCE", "TEARDOWN", "X"]), uri: "*",
            headers: fields(&choices), body: []), at: now)
      case 6: pass(Int64(choices.byte()) * 100_000_000)
      case 7: session.connectionClosed(at: now)
      case 8: _ = session.route(channel: choices.byte(), at: now)
      default: session.mediaArrived(at: now)
      }
      try perform(&choices)
    }
    // A server that falls silent is left.
    if !isOver { session.teardown(at: now) }
    try perform(&choices)
    while !isOver, let deadline = session.deadline {
      now = max(now, deadline)
      session.wake(at: now)
      try perform(&choices)
      steps += 1
      try require(steps < 100_000, "it wakes again and again at \(now)")
    }
    try require(isOver, "it does not come to an end")
  }

  private mutating func pass(_ nanoseconds: Int64) {
    now = now.advanced(byNanoseconds: nanoseconds)
    if let deadline = session.deadline, deadline <= now { session.wake(at: now) }
  }

  private mutating func answer(_ choices: inout Choices) -> RTSPResponse {
    let request = pending.isEmpty ? nil : pending.removeFirst()
    let status = choices.pick([200, 200, 200, 401, 302, 404, 454, 459, 461, 501, 551, 100])
    var response = RTSPResponse(status: status, reason: "", headers: fields(&choices))
    if choices.byte() & 7 != 7 { response.headers.add("CSeq", request?.headers["CSeq"] ?? "1") }
    if request?.method == "DESCRIBE" {
      response.body = choices.flag() ? choices.piece() : Array(Self.description.utf8)
    }
    return response
  }

  private static let description = """
    v=0\r
    m=video 0 RTP/AVP 96\r
    a=rtpmap:96 H264/90000\r
    a=control:track1\r
    m=audio 0 RTP/AVP 0\r
    a=control:track2\r\n
    """

  private func fields(_ choices: inout Choices) -> RTSPHeaders {
    var headers = RTSPHeaders()
    for _ in 0..<choices.number(upTo: 3) {
      let name = choices.pick([
        "Transport", "Session", "WWW-Authenticate", "Location", "RTP-Info", "Public",
        "Content-Base", "CSeq", "Range",
      ])
      headers.add(
        name,
        choices.flag()
          ? choices.pick([
            "RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP;unicast;server_port=6000-6001",
            "RTP/AVP;multicast;destination=239.1.2.3;port=5000-5001", "1;timeout=10",
            #"Digest realm="r", nonce="n""#, #"Basic realm="r""#, "rtsp://camera/other",
            "rtsp://10.0.0.1/", "OPTIONS, GET_PARAMETER",
          ]) : Self.text(choices.piece()))
    }
    return headers
  }

  /// The text of a field, from which the reader of messages takes control characters.
  private static func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes.filter { $0 >= 0x20 || $0 == 0x09 }, as: UTF8.self)
  }

  private mutating func perform(_ choices: inout Choices) throws {
    while let action = session.nextAction() {
      try require(!isOver, "\(action) after the end")
      switch action {
      case .connect:
        pending = []
        connections += 1
        try require(connections < 50, "it connects again and again")
        if choices.byte() & 7 == 7 {
          session.connectionFailed(at: now)
        } else {
          session.connectionReached(isInside: choices.flag())
          session.connectionOpened(at: now)
        }
      case .request(let request):
        requests += 1
        try check(request.uri)
        for field in request.headers.fields { try check(field.value) }
        pending.append(request)
      case .openPorts(let media, _):
        if choices.flag() {
          session.portsOpened(.init(media: 5000, control: 5001), forMedia: media, at: now)
        } else {
          session.portsFailed(forMedia: media, at: now)
        }
      case .describe(let description, _, let tracks):
        try require(tracks.allSatisfy { description.media.indices.contains($0) }, "\(tracks)")
      case .end: isOver = true
      case .respond, .expectMedia, .closePorts, .playing, .report: break
      }
    }
  }

  private func check(_ text: String) throws {
    let isOneLine = !text.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }
    try require(isOneLine, "\(text.debugDescription) is two lines")
    try require(!text.contains("a long secret"), "\(text) has the password")
  }
}

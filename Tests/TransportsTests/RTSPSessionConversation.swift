import NIOCore
import RTPWire
import TestSupport

@testable import Transports

/// What a scripted server answers to one request.
struct Reply: Sendable {
  var status = 200
  var reason = "OK"
  var fields: [(String, String)] = []
  var body = ""
  var sequence = Sequence.repeated
  /// Whether the server closes the connection after it.
  var closes = false
  /// Whether the answer never comes.
  var isMissing = false

  /// What the server does to CSeq.
  enum Sequence: Sendable {
    case repeated
    case left
    case changed(by: Int)
  }

  static let ok = Reply()
  /// An answer to OPTIONS that lists what keeps a session alive.
  static let methods = ok.with(
    "Public", "OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER, SET_PARAMETER")
  /// No answer, and the connection stays open.
  static let silence = Reply(isMissing: true)
  /// No answer, and the connection is closed.
  static let close = Reply(closes: true, isMissing: true)

  static func status(_ status: Int, _ reason: String = "No") -> Reply {
    Reply(status: status, reason: reason)
  }

  static func challenge(_ challenges: String...) -> Reply {
    Reply(status: 401, reason: "Unauthorized", fields: challenges.map { ("WWW-Authenticate", $0) })
  }

  static func redirect(_ location: String, status: Int = 302) -> Reply {
    Reply(status: status, reason: "Moved", fields: [("Location", location)])
  }

  static func description(_ lines: String..., base: String? = nil) -> Reply {
    description(lines, base: base)
  }

  static func description(_ lines: [String], base: String? = nil) -> Reply {
    Reply(
      fields: base.map { [("Content-Base", $0)] } ?? [],
      body: (["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=-", "t=0 0"] + lines).joined(separator: "\r\n"))
  }

  static let oneVideo = description(
    "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000", "a=control:track1")
  static let audioAndVideo = description(
    "m=audio 0 RTP/AVP 0", "a=control:track1", "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000",
    "a=control:track2")

  static func setUp(_ transport: String?, session: String? = "1;timeout=60") -> Reply {
    var reply = Reply()
    if let transport { reply.fields.append(("Transport", transport)) }
    if let session { reply.fields.append(("Session", session)) }
    return reply
  }

  static let tcp = setUp("RTP/AVP/TCP;unicast;interleaved=0-1")
  static let udp = setUp("RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001")

  func with(_ name: String, _ value: String) -> Reply {
    var reply = self
    reply.fields.append((name, value))
    return reply
  }

  func sequence(_ sequence: Sequence) -> Reply {
    var reply = self
    reply.sequence = sequence
    return reply
  }

  func closing() -> Reply {
    var reply = self
    reply.closes = true
    return reply
  }

  func response(to request: RTSPRequest) -> RTSPResponse {
    var response = RTSPResponse(status: status, reason: reason)
    let number = request.headers["CSeq"].flatMap { Int($0) } ?? -1
    switch sequence {
    case .repeated: response.headers.add("CSeq", String(number))
    case .left: break
    case .changed(let delta): response.headers.add("CSeq", String(number + delta))
    }
    for (name, value) in fields { response.headers.add(name, value) }
    response.body = Array(body.utf8)
    return response
  }
}

/// A session and a scripted server, talking to each other on a virtual clock.
struct Conversation {
  /// For each method, the answers to its first request, its second and so on.
  ///
  /// The last answer is repeated. Methods not listed get 200, and OPTIONS a list of methods.
  typealias Script = [String: [Reply]]

  var session: RTSPSession
  /// Everything that was said and done, a line each.
  private(set) var transcript: [String] = []
  /// What the session was told of the media.
  private(set) var description: SessionDescription?
  private(set) var requests: [RTSPRequest] = []
  private(set) var responses: [RTSPResponse] = []
  private(set) var reports: [RTSPDiagnostic] = []
  private(set) var end: RTSPSession.End?
  /// When each request was sent, in milliseconds since the start.
  private(set) var times: [Int64] = []
  var now = Instant(nanoseconds: 0)
  /// The interval of the server's packets on the selected stream while it plays, in milliseconds;
  /// `nil` for none.
  var packetEvery: Int64?
  /// Names of this machine.
  var insideHosts: Set<String> = []
  /// Whether connections are refused, or never come about.
  var isUnreachable = false
  var isBlackHole = false
  /// Whether what the server sends over UDP gets lost on the way.
  var isUDPBlocked = false
  /// Whether no sockets can be opened.
  var hasNoPorts = false
  var mediaWithoutPorts: Set<Int> = []
  var sendsAnswersTwice = false

  private var script: Script
  private var counts: [String: Int] = [:]
  private var nextPacket: Instant?
  private var answers: [(Reply, RTSPRequest)] = []
  private var isOverUDP = false

  init(
    _ script: Script, url: String = "rtsp://camera/live",
    over lowerTransport: RTSPConfiguration.LowerTransport = .tcp,
    credentials: Credentials? = nil, purpose: RTSPSession.Purpose = .play,
    packetEvery: Int64? = 40, _ configure: (inout RTSPConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = RTSPConfiguration()
    configuration.lowerTransport = lowerTransport
    configure(&configuration)
    self.script = script
    self.packetEvery = packetEvery
    session = RTSPSession(
      configuration: configuration, url: try ServerURL(parsing: url), credentials: credentials,
      purpose: purpose, randomness: KnownNumbers.counting(from: 1), at: now)
  }

  var milliseconds: Int64 { now.nanoseconds / 1_000_000 }
  var methods: [String] { requests.map(\.method) }

  func count(of method: String) -> Int { methods.count { $0 == method } }

  /// The value of a field in each request of `method`, `-` where it is missing.
  func values(of field: String, in method: String) -> [String] {
    requests.filter { $0.method == method }.map { $0.headers[field] ?? "-" }
  }

  /// Continues until the session ends or `milliseconds` of the virtual clock have passed.
  mutating func run(milliseconds: Int64 = 2000) {
    let limit = now.advanced(byNanoseconds: milliseconds * 1_000_000)
    execute()
    var steps = 0
    while end == nil, steps < Self.maximumSteps {
      steps += 1
      let packet = nextPacket
      let next = [session.deadline, packet].compactMap(\.self).min()
      guard let next, next <= limit else { break }
      now = max(now, next)
      if next == packet {
        deliverPacket()
      } else {
        session.wake(at: now)
      }
      execute()
    }
    if end == nil { now = limit }
  }

  /// Carries out the session's actions, and answers as scripted, until nothing is left.
  mutating func execute() {
    while true {
      // What a server answers comes after everything that was done at once.
      while let action = session.nextAction() { execute(action) }
      guard !answers.isEmpty else { return }
      let (reply, request) = answers.removeFirst()
      if !reply.isMissing {
        for _ in 0..<(sendsAnswersTwice ? 2 : 1) {
          session.receive(reply.response(to: request), at: now)
        }
      }
      if reply.closes {
        answers.removeAll()
        session.connectionClosed(at: now)
      }
    }
  }

  private mutating func execute(_ action: RTSPSession.Action) {
    switch action {
    case .connect(let url, _):
      transcript.append("connect \(url)")
      nextPacket = nil
      answers.removeAll()
      if isUnreachable {
        session.connectionFailed(at: now)
      } else if !isBlackHole {
        session.connectionReached(isInside: insideHosts.contains(url.host))
        session.connectionOpened(at: now)
      }
    case .request(let request): receive(request)
    case .respond(let response):
      responses.append(response)
      transcript.append("\(response.status)")
    case .describe(let description, let selected, _):
      self.description = description
      transcript.append("describe \(selected.map(String.init) ?? "-")")
    case .openPorts(let media, .pair):
      transcript.append("open \(media)")
      if hasNoPorts || mediaWithoutPorts.contains(media) {
        return session.portsFailed(forMedia: media, at: now)
      }
      session.portsOpened(
        RTSPSession.ClientPorts(media: 5000 + 2 * media, control: 5001 + 2 * media),
        forMedia: media, at: now)
    case .openPorts(let media, .multicast(let group, let port, let sources)):
      let from = sources.map { " from \($0)" }.joined()
      transcript.append("join \(group):\(port)\(from)")
      session.portsOpened(
        RTSPSession.ClientPorts(media: port, control: port + 1), forMedia: media, at: now)
    case .expectMedia(let media, let ports):
      isOverUDP = true
      transcript.append("expect \(media) from \(ports.media ?? 0)-\(ports.control ?? 0)")
    case .closePorts:
      isOverUDP = false
      transcript.append("close ports")
    case .playing:
      transcript.append("playing")
      nextPacket = packetEvery.map { now.advanced(byNanoseconds: $0 * 1_000_000) }
    case .report(let diagnostic): reports.append(diagnostic)
    case .end(let end):
      self.end = end
      nextPacket = nil
      transcript.append("end")
    }
  }

  /// Lets the server stop sending, as one does that died.
  mutating func stopPackets() { nextPacket = nil }

  private mutating func deliverPacket() {
    if isOverUDP {
      if !isUDPBlocked { session.mediaArrived(at: now) }
    } else {
      _ = session.route(channel: session.assignedChannels.first ?? 0, at: now)
    }
    nextPacket = packetEvery.map { now.advanced(byNanoseconds: $0 * 1_000_000) }
  }

  /// A session that wakes again and again at one instant makes the test fail, not hang.
  private static let maximumSteps = 100_000

  private mutating func receive(_ request: RTSPRequest) {
    requests.append(request)
    times.append(milliseconds)
    transcript.append("\(request.method) \(request.uri)")
    let replies = script[request.method] ?? [request.method == "OPTIONS" ? .methods : .ok]
    let count = counts[request.method, default: 0]
    counts[request.method] = count + 1
    let reply = replies.indices.contains(count) ? replies[count] : replies.last ?? .silence
    answers.append((reply, request))
  }
}

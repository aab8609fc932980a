import NIOCore
import RTPWire

@testable import RTPSend

/// A client and a server's session on a virtual clock, without sockets: requests go in, and what is
/// answered and done comes out.
struct Conversation {
  var session: RTSPServerSession
  var now = Instant(nanoseconds: 0)
  /// All responses so far, and what else was done, in order.
  var responses: [String] = []
  var done: [String] = []
  /// What the caller of the session answers.
  var outcomes: [RTSPServerSession.SetUpOutcome] = []
  var beginning: PassageBeginning? = PassageBeginning(
    packets: [
      0: PassageBeginning.FirstPacket(sequence: 17, timestamp: 1000),
      1: PassageBeginning.FirstPacket(sequence: 99, timestamp: 2000),
    ])
  var passages: [Passage] = []
  var tunnelOutcome = RTSPServerSession.TunnelOutcome.opened
  /// What follows a POST.
  var unread = ByteBuffer()
  var isDescribed = true
  var description = "v=0\r\n"
  private var number = 0

  static let live = RTSPServerSession.Stream(
    name: "live", trackCount: 2,
    groups: [
      MulticastGroup(address: "239.1.2.3", port: 6000),
      MulticastGroup(address: "239.1.2.3", port: 6002),
    ])
  static let film = RTSPServerSession.Stream(
    name: "films/one film", trackCount: 1, duration: 60_000_000_000)

  init(_ change: (inout RTSPServerSession.Configuration) -> Void = { _ in }) {
    var configuration = RTSPServerSession.Configuration(
      streams: [Self.live, Self.film], origin: "rtsp://192.0.2.1:8554", serverPorts: (7000, 7001))
    change(&configuration)
    session = RTSPServerSession(configuration, entropy: SplitMix64(seed: 1), at: now)
  }

  /// Sends a request with the next sequence number; returns the response.
  @discardableResult
  mutating func ask(_ method: String, _ target: String, _ headers: [String] = []) -> String {
    number += 1
    let lines = ["\(method) \(target) RTSP/1.0", "CSeq: \(number)"] + headers
    return send(lines.joined(separator: "\r\n") + "\r\n\r\n")
  }

  /// Sends bytes; returns what came back.
  @discardableResult
  mutating func send(_ text: String) -> String {
    let before = responses.count
    session.receive(ByteBuffer(string: text), at: now)
    run()
    return responses[before...].joined()
  }

  mutating func send(_ bytes: [UInt8]) {
    session.receive(ByteBuffer(bytes: bytes), at: now)
    run()
  }

  mutating func wait(seconds: Double) {
    now = now.advanced(byNanoseconds: Int64(seconds * 1e9))
    session.expire(at: now)
    run()
  }

  /// Sets a track up in the connection; returns the session's identifier.
  mutating func setUp(_ target: String, _ headers: [String] = []) -> String {
    let transport = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"
    return Self.header("Session", in: ask("SETUP", target, [transport] + headers))
      .map { String($0.prefix { $0 != ";" }) } ?? ""
  }

  static func status(_ response: String) -> Int? {
    response.split(separator: " ").dropFirst().first.flatMap { Int($0) }
  }

  /// The value of a header.
  static func header(_ name: String, in response: String) -> String? {
    response.split(separator: "\r\n")
      .first { $0.lowercased().hasPrefix("\(name.lowercased()): ") }
      .map { String($0.dropFirst(name.count + 2)) }
  }

  mutating func run() {
    while let action = session.next(at: now) {
      switch action {
      case .send(let bytes): responses.append(String(buffer: bytes))
      case .describe(let stream):
        done.append("describe \(stream)")
        if isDescribed { session.described(description, at: now) }
      case .setUp(_, let stream, let track, let carrier):
        done.append("set up \(stream)/\(track) \(carrier)")
        session.setUp(outcomes.isEmpty ? .ready(ssrc: 0xAB) : outcomes.removeFirst(), at: now)
      case .play(_, let passage):
        passages.append(passage)
        done.append("play")
        session.played(beginning, at: now)
      case .start: done.append("start")
      case .pause: done.append("pause")
      case .drop(_, let track): done.append("drop \(track)")
      case .end(_, let ending): done.append("end \(ending)")
      case .control(_, let track, let bytes): done.append("control \(track) \(bytes.readableBytes)")
      case .openTunnel(let cookie, _):
        done.append("open tunnel \(cookie)")
        session.tunnelOpened(tunnelOutcome)
      case .joinTunnel(let cookie):
        done.append("join tunnel \(cookie)")
        unread = session.takeUnread()
      case .close: done.append("close")
      }
    }
  }
}

import Impairment
import NIOCore
import RTPWire

/// A client's conversation with the server, on a virtual clock (RFC 2326).
///
/// Bytes go in, and actions come out, which the caller carries out in their order. Some of them
/// are questions, after which nothing comes until they are answered: ``Action/describe(stream:)``,
/// ``Action/setUp(_:stream:track:_:)``, ``Action/play(_:_:)`` and those of a tunnel.
struct RTSPServerSession {
  /// What clients are told.
  ///
  /// They are given five seconds more, because Media Foundation sends its sign of life exactly
  /// then.
  static let announcedTimeout = 60
  static let timeoutNanoseconds: Int64 = 65_000_000_000
  /// The longest that a message may take, once it has begun, and that a connection may be silent
  /// before its first one.
  static let messageNanoseconds: Int64 = 10_000_000_000
  /// The longest that a connection may be silent which has set nothing up.
  static let idleNanoseconds: Int64 = 60_000_000_000
  /// Sessions in one connection.
  ///
  /// FFmpeg begins a second one when it goes over to TCP.
  static let mostSessions = 4
  /// The longest that a description is waited for.
  static let descriptionNanoseconds: Int64 = 10_000_000_000

  /// What is served under one name.
  struct Stream: Sendable, Equatable {
    /// Without slashes at its ends.
    var name: String
    var trackCount = 1
    /// In nanoseconds; `nil` for what is live.
    var duration: Int64?
    /// One for each track where clients may ask for multicast.
    var groups: [MulticastGroup] = []
    /// Whether it may go in datagrams, which TLS does not hide.
    var takesDatagrams = true
  }

  struct Configuration: Sendable {
    var streams: [Stream]
    /// What URLs begin with, for requests that name only a path: `rtsp://127.0.0.1:8554`.
    var origin: String
    var isSecure = false
    var login: RTSPLogin?
    /// The ports from which datagrams come, if they can be sent.
    var serverPorts: (rtp: Int, rtcp: Int)?
    /// Those of servers; others have no effect here.
    var quirks: Set<Quirk> = []
  }

  enum Action {
    case send(ByteBuffer)
    case describe(stream: Int)
    /// Whether the track, counted from 0, can go this way.
    case setUp(String, stream: Int, track: Int, Carrier)
    case play(String, Passage)
    /// The answer to PLAY has been sent, so that media may follow.
    case start(String)
    case pause(String)
    case drop(String, track: Int)
    case end(String, SessionEnding)
    /// RTCP of the client.
    case control(String, track: Int, ByteBuffer)
    /// Whether requests may come by another connection, whose POST has this cookie.
    case openTunnel(String, RTSPRequest)
    /// What follows belongs to the connection whose GET had this cookie.
    case joinTunnel(String)
    case close
  }

  enum SessionEnding: Sendable, Hashable {
    case tornDown
    case silent
  }

  /// The answer to ``Action/setUp(_:stream:track:_:)``.
  enum SetUpOutcome: Sendable, Hashable {
    case ready(ssrc: UInt32)
    /// Another client has these ports.
    case taken
    case full
  }

  /// A session in the sense of RFC 2326 §3.4.
  struct Session: Equatable {
    let id: String
    let stream: Int
    /// By tracks, counted from 0.
    var tracks: [Int: SetUpTrack] = [:]
    var isPlaying = false
    var heard: Instant
  }

  struct SetUpTrack: Equatable {
    /// As in the request, because FFmpeg compares it byte for byte.
    var url: String
    var carrier: Carrier
  }

  /// A request that waits for an answer of the caller.
  enum Pending {
    case describe(RTSPRequest, stream: Int, until: Instant)
    case setUp(RTSPRequest, SetUp)
    case play(RTSPRequest, String)
    case tunnel
  }

  struct SetUp {
    var session: Session
    var track: Int
    var choices: [(profile: String, carrier: Carrier)]
  }

  let configuration: Configuration
  var sessions: [Session] = []
  var pending: Pending?
  var gate: RTSPGate?
  var isClosed = false
  var answers: QuirkyAnswers

  private var reader = RTSPRequestReader()
  private var actions = CircularBuffer<Action>()
  private var entropy: any RandomNumberGenerator & Sendable
  private var hasSpoken = false
  private var lastRequest: Instant
  /// When the message began that is not whole yet.
  private var messageBegan: Instant?

  init(
    _ configuration: Configuration, entropy: any RandomNumberGenerator & Sendable, at now: Instant
  ) {
    self.configuration = configuration
    self.entropy = entropy
    gate = configuration.login.map { RTSPGate($0) }
    // The channels are really others, and descriptions are written with their quirks.
    answers = QuirkyAnswers(
      configuration.quirks.filter { $0.place == .session && $0 != .otherChannels })
    lastRequest = now
  }

  /// Takes what the client sent.
  mutating func receive(_ bytes: ByteBuffer, at now: Instant) {
    guard !isClosed else { return }
    reader.append(bytes)
    if messageBegan == nil { messageBegan = now }
  }

  /// What is to be done next; pull until `nil` after each call that can cause something.
  mutating func next(at now: Instant) -> Action? {
    while actions.isEmpty, pending == nil, !isClosed {
      do throws(RTSPRequestReader.Fault) {
        guard let item = try reader.next() else { break }
        messageBegan = now
        hasSpoken = true
        switch item {
        case .request(let request):
          lastRequest = now
          handle(request, at: now)
        case .frame(let channel, let bytes): take(bytes, on: channel, at: now)
        }
      } catch {
        close(after: RTSPResponse(error.status))
      }
    }
    if !reader.isInside { messageBegan = nil }
    return actions.popFirst()
  }

  /// When something ends if the client stays silent.
  var deadline: Instant? {
    guard !isClosed else { return nil }
    var next = sessions.map { $0.heard.advanced(byNanoseconds: Self.timeoutNanoseconds) }.min()
    func consider(_ instant: Instant) { next = min(next ?? instant, instant) }
    if let messageBegan, pending == nil {
      consider(messageBegan.advanced(byNanoseconds: Self.messageNanoseconds))
    }
    if case .describe(_, _, let until) = pending { consider(until) }
    if sessions.isEmpty {
      consider(
        lastRequest.advanced(
          byNanoseconds: hasSpoken ? Self.idleNanoseconds : Self.messageNanoseconds))
    }
    return next
  }

  /// Ends what has been silent for too long.
  mutating func expire(at now: Instant) {
    guard !isClosed else { return }
    for session in sessions
    where session.heard.advanced(byNanoseconds: Self.timeoutNanoseconds) <= now {
      remove(session.id, .silent)
      // A connection whose session is over has an idle time of its own.
      lastRequest = now
    }
    if case .describe(let request, _, let until) = pending, until <= now {
      pending = nil
      respond(to: request, .unavailable)
      // What came behind it has waited for no fault of its own.
      messageBegan = messageBegan.map { _ in now }
    }
    let isLate =
      messageBegan.map { $0.advanced(byNanoseconds: Self.messageNanoseconds) <= now } ?? false
    let limit = hasSpoken ? Self.idleNanoseconds : Self.messageNanoseconds
    let isIdle = sessions.isEmpty && lastRequest.advanced(byNanoseconds: limit) <= now
    if pending == nil, isLate || isIdle { close() }
  }

  /// The client took media that go through its connection, or reported on datagrams.
  ///
  /// VLC and FFmpeg say nothing else as long as media come.
  mutating func noteLife(of id: String, at now: Instant) {
    if let index = index(of: id) { sessions[index].heard = now }
  }

  /// The media of a session have ended; it can be played again.
  mutating func noteEnd(of id: String) {
    if let index = index(of: id) { sessions[index].isPlaying = false }
  }

  // MARK: What the requests do

  mutating func act(_ action: Action) { actions.append(action) }

  mutating func respond(
    to request: RTSPRequest, _ status: RTSPStatus, _ headers: [(String, String)] = [],
    body: String = ""
  ) {
    let response = RTSPResponse(status, headers, body: body)
    guard let answer = answers.change(response.text(sequence: request["cseq"])) else { return }
    act(.send(answer.text.bytes))
    if case .frames(let frames) = answer.company { act(.send(frames)) }
  }

  mutating func close(after response: RTSPResponse? = nil) {
    if let response { act(.send(response.text(sequence: nil).bytes)) }
    for session in sessions { remove(session.id, .silent) }
    isClosed = true
    act(.close)
  }

  mutating func remove(_ id: String, _ ending: SessionEnding) {
    sessions.removeAll { $0.id == id }
    act(.end(id, ending))
  }

  mutating func takeUnread() -> ByteBuffer { reader.takeUnread() }

  mutating func discardUnread() { _ = reader.takeUnread() }

  func index(of id: String) -> Int? { sessions.firstIndex { $0.id == id } }

  /// Letters and digits alone: dashes confuse some clients.
  mutating func drawIdentifier() -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let characters = (0..<16).compactMap { _ in alphabet.randomElement(using: &entropy) }
    return String(decoding: characters, as: UTF8.self)
  }

  mutating func drawNumber() -> UInt64 { entropy.next() }

  private mutating func take(_ bytes: ByteBuffer, on channel: UInt8, at now: Instant) {
    for index in sessions.indices {
      for (track, setUp) in sessions[index].tracks {
        guard case .interleaved(let pair) = setUp.carrier, pair.rtcp == channel else { continue }
        sessions[index].heard = now
        act(.control(sessions[index].id, track: track, bytes))
        return
      }
    }
    // Other frames are ignored: a client that fell back from another transport, or one before PLAY.
  }
}

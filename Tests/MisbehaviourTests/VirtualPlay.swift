import Bitstream
import Defragment
import NIOCore
import RTPSend
import RTPWire
import Receiver
import Reception
import TestSupport

@testable import Transports

/// A script played against ``RTSPSession`` on a virtual clock, followed by the core.
///
/// There is no socket, thread or waiting: it takes the place of the transport and does the same.
struct VirtualPlay {
  /// How the bytes of the server come in.
  enum Portions: Sendable {
    case asSent
    case single
    /// Of sizes from a seed.
    case random(seed: UInt64)
  }

  /// Longer than anything that a script waits for.
  static let limit = Duration.seconds(600)
  private static let clientPorts = RTSPSession.ClientPorts(media: 40_000, control: 40_001)

  private var server: ScriptedServer
  private var session: RTSPSession
  private var input = RTSPInput()
  private var stream: VideoStream?
  private let clip: ClipPackets
  private var portions: Portions
  private var generator: SeededGenerator
  private var connection = 0
  private var isConnected = false
  private var hasPorts = false
  private var arriving: [ScriptedServer.Output] = []
  private var outcome = Outcome()
  private var isOver = false
  private var now = Instant(nanoseconds: 0)

  static func run(
    _ script: Script, portions: Portions = .asSent, byteLimit: Int? = nil
  ) throws -> Outcome {
    var play = try VirtualPlay(script, portions: portions)
    play.server.byteLimit = { _ in byteLimit }
    play.run()
    return play.outcome
  }

  private init(_ script: Script, portions: Portions) throws {
    let clip = try ClipPackets.shared.get()
    let place = ScriptedServer.Place()
    server = ScriptedServer(script, usual: try Script.usual.get(), clip: clip, at: place)
    let rtsp = script.options.rtsp
    session = RTSPSession(
      configuration: rtsp, url: try ServerURL(parsing: script.source(port: place.port)),
      credentials: rtsp.credentials, randomness: SeededGenerator(seed: 1), at: now)
    self.clip = clip
    self.portions = portions
    if case .random(let seed) = portions {
      generator = SeededGenerator(seed: seed)
    } else {
      generator = SeededGenerator(seed: 0)
    }
  }

  private mutating func run() {
    let end = now.advanced(by: Self.limit)
    while !isOver {
      settle()
      let due = [session.deadline, server.deadline, stream?.deadline].compactMap(\.self).min()
      guard !isOver, let due, due < end else { break }
      now = max(now, due)
      arriving += server.advance(to: now)
      settle()
      if !isOver { session.wake(at: now) }
      pull()
    }
    stream?.finish(at: now)
    pull()
    outcome.requests = server.requests
    outcome.seconds = Double(now.nanoseconds) / 1e9
  }

  /// Lets client and server say all that they have to say now.
  private mutating func settle() {
    while !isOver {
      if let action = session.nextAction() {
        perform(action)
      } else if !arriving.isEmpty {
        deliver(arriving.removeFirst())
      } else {
        return
      }
    }
  }

  // MARK: - The client's side

  private mutating func perform(_ action: RTSPSession.Action) {
    switch action {
    case .connect:
      if isConnected { server.closed(connection) }
      connection += 1
      isConnected = true
      outcome.bytesFromServer = 0
      input = RTSPInput()
      arriving += server.opened(connection, at: now)
      session.connectionReached(isInside: true)
      session.connectionOpened(at: now)
    case .request(let request): send(request.encoded())
    case .respond(let response): send(response.encoded())
    case .describe(let description, let selected, _):
      var configuration = VideoStream.Configuration()
      if let index = selected { configuration.media = description.media[index].description }
      stream = try? VideoStream(configuration: configuration)
    case .openPorts(let media, _):
      hasPorts = true
      session.portsOpened(Self.clientPorts, forMedia: media, at: now)
    case .closePorts: hasPorts = false
    case .expectMedia, .playing: break
    case .report(let diagnostic):
      outcome.reports?.insert(caseName(of: diagnostic))
      outcome.texts.append("\(diagnostic)")
    case .end(.finished): end("finished")
    case .end(.notConnected): end("notConnected")
    case .end(.failed(let error)):
      outcome.texts += ["\(error)", String(reflecting: error)]
      end(caseName(of: error))
    }
  }

  private mutating func end(_ name: String) {
    outcome.end = name
    isOver = true
  }

  private mutating func send(_ bytes: ByteBuffer) {
    guard isConnected else { return }
    arriving += server.receive(Array(bytes.readableBytesView), on: connection, at: now)
  }

  // MARK: - The server's side

  private mutating func deliver(_ output: ScriptedServer.Output) {
    switch output {
    case .send(connection, let bytes) where isConnected:
      outcome.bytesFromServer = (outcome.bytesFromServer ?? 0) + bytes.count
      for portion in divide(bytes) { receive(portion) }
    case .close(connection), .reset(connection):
      guard isConnected else { return }
      isConnected = false
      if let fault = input.faultAtEnd {
        session.inputFailed(fault, at: now)
      } else {
        session.connectionClosed(at: now)
      }
    case .datagram(let bytes, _, let isControl) where hasPorts:
      if !isControl { session.mediaArrived(at: now) }
      take(ByteBuffer(bytes: bytes), from: isControl ? .control : .media)
    case .send, .close, .reset, .datagram: break
    }
  }

  private mutating func divide(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    switch portions {
    case .asSent: return [bytes[...]]
    case .single: return bytes.indices.map { bytes[$0...$0] }
    case .random:
      var pieces: [ArraySlice<UInt8>] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        // Mostly small reads, which split at more places where that could hurt.
        let length = 1 + Int(generator.next() % (generator.next() % 3 == 0 ? 2000 : 12))
        pieces.append(rest.prefix(length))
        rest = rest.dropFirst(length)
      }
      return pieces
    }
  }

  private mutating func receive(_ bytes: ArraySlice<UInt8>) {
    guard !isOver, isConnected else { return }
    input.assignedChannels = session.assignedChannels
    input.append(ByteBuffer(bytes: bytes))
    do {
      while let element = try input.next(at: now) {
        switch element {
        case .response(let response): session.receive(response, at: now)
        case .request(let request): session.receive(request, at: now)
        case .frame(let channel, let frame):
          if case .deliver(let kind, _) = session.route(channel: channel, at: now) {
            take(frame, from: kind)
          }
        }
        // What an answer leads to comes before the next thing that was read.
        while let action = session.nextAction() { perform(action) }
        input.assignedChannels = session.assignedChannels
        guard !isOver, isConnected else { return }
      }
    } catch {
      session.inputFailed(error, at: now)
    }
  }

  private mutating func take(_ bytes: ByteBuffer, from channel: Datagram.Channel) {
    stream?.receive(Datagram(bytes: bytes, arrival: now, channel: channel))
    pull()
  }

  private mutating func pull() {
    while let unit = stream?.next(at: now) { outcome.frames.append(Frame(unit, of: clip)) }
  }
}

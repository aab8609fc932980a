import Foundation
import NIOCore
import RTPSend
import RTPWire
import TestSupport

/// A server that does what a script says, as a value: bytes and `now` go in, outputs come out.
///
/// In the texts of a script stand: `{cseq}`, `{uri}` and `{host}` of the request that is answered,
/// `{port}` of the server, `{base}` = `rtsp://host:port`, `{session}`, `{transport}` = an agreeable
/// answer to the Transport that was asked for, `{channel}`, `{server_port}`, `{server_rtcp_port}`,
/// and of the clip `{sequence}`, `{rtptime}`, `{ssrc}`, `{sets}`.
struct ScriptedServer: Sendable {
  typealias Connection = Int

  enum Output: Sendable, Hashable {
    case send(Connection, [UInt8])
    /// From the port of the media, or of its RTCP, to the client's port.
    case datagram([UInt8], to: Int, isControl: Bool)
    /// After everything already sent.
    case close(Connection)
    case reset(Connection)
  }

  /// A request as it came.
  struct Request: Sendable, Hashable {
    var method: String
    var uri: String
    var head: String
    var connection: Connection

    /// The value of the first header of this name.
    subscript(name: String) -> String? {
      let prefix = name.lowercased() + ":"
      return head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix(prefix) }
        .map { $0.dropFirst(prefix.count).trimmingCharacters(in: .whitespaces) }
    }
  }

  /// What the shell has opened for the server.
  struct Place: Sendable {
    var scheme = "rtsp"
    var host = "127.0.0.1"
    var port = 8554
    /// Where the media of UDP clients is sent from; RTCP from the next.
    var mediaPort = 6970
  }

  /// All that has been asked for.
  private(set) var requests: [Request] = []
  /// After how many bytes a connection is closed, whatever the script says.
  var byteLimit: (@Sendable (Connection) -> Int?)?

  private let script: Script
  private let usual: Script
  let clip: ClipPackets
  let place: Place
  private var isUsed: Set<Int> = []
  var connections: [Connection: Dialogue] = [:]
  private var tasks: [Run] = []
  private var position = 0
  private var garbage = SeededGenerator(seed: 7)
  private var outputs: [Output] = []

  /// What is known of one connection.
  struct Dialogue {
    var buffer: [UInt8] = []
    var channel = 0
    /// The client's ports when the media goes over UDP.
    var ports: (media: Int, control: Int)?
    var lineEnding = "\r\n"
    /// Seconds between bytes sent one by one, and the bytes that wait for it.
    var drip: Double?
    var dripping: ArraySlice<UInt8> = []
    /// What happens to the connection after them.
    var ending: Output?
    var isSilent = false
    var sent = 0
    var lastLife: Instant
  }

  /// The steps of a block that are still to come, the next one last.
  private struct Run {
    enum Duty {
      case steps([Script.Step])
      case drip
      case watch(Double)
    }

    var connection: Connection
    var request: Request?
    var due: Instant
    var duty: Duty
  }

  init(_ script: Script, usual: Script, clip: ClipPackets, at place: Place = Place()) {
    (self.script, self.usual, self.clip, self.place) = (script, usual, clip, place)
  }

  // MARK: - Inputs

  mutating func opened(_ connection: Connection, at now: Instant) -> [Output] {
    connections[connection] = Dialogue(lastLife: now)
    answer(Request(method: "connect", uri: "", head: "", connection: connection), at: now)
    return takeOutputs(at: now)
  }

  mutating func receive(
    _ bytes: [UInt8], on connection: Connection, at now: Instant
  ) -> [Output] {
    connections[connection]?.buffer += bytes
    while let request = nextRequest(on: connection) {
      connections[connection]?.lastLife = now
      requests.append(request)
      if connections[connection]?.isSilent == false { answer(request, at: now) }
    }
    return takeOutputs(at: now)
  }

  mutating func closed(_ connection: Connection) {
    connections[connection] = nil
    tasks.removeAll { $0.connection == connection }
  }

  /// When ``advance(to:)`` has something to do.
  var deadline: Instant? { tasks.lazy.map(\.due).min() }

  mutating func advance(to now: Instant) -> [Output] { takeOutputs(at: now) }

  // MARK: - Requests

  /// Removes the next whole message from the input; drops data frames.
  private mutating func nextRequest(on connection: Connection) -> Request? {
    guard var buffer = connections[connection]?.buffer else { return nil }
    defer { connections[connection]?.buffer = buffer }
    while buffer.first == UInt8(ascii: "$") {
      guard buffer.count >= 4 else { return nil }
      let length = 4 + Int(buffer[2]) << 8 + Int(buffer[3])
      guard buffer.count >= length else { return nil }
      buffer.removeFirst(length)
    }
    let text = String(decoding: buffer, as: Unicode.ASCII.self)
    guard let end = text.range(of: "\r\n\r\n") else { return nil }
    let head = String(text[..<end.lowerBound])
    let words = head.split(whereSeparator: \.isWhitespace).prefix(2).map(String.init)
    let isResponse = head.hasPrefix("RTSP/")
    let request = Request(
      method: isResponse ? "response" : words.first ?? "",
      uri: words.count > 1 ? words[1] : "", head: head, connection: connection)
    let length =
      head.unicodeScalars.count + 4 + (request["Content-Length"].flatMap { Int($0) } ?? 0)
    guard buffer.count >= length else { return nil }
    buffer.removeFirst(length)
    return request
  }

  private mutating func answer(_ request: Request, at now: Instant) {
    agree(on: request)
    let steps = block(for: request)?.steps ?? usualSteps(for: request)
    tasks.append(
      Run(
        connection: request.connection, request: request, due: now,
        duty: .steps(steps.reversed())))
  }

  private mutating func block(for request: Request) -> Script.Block? {
    for (index, block) in script.blocks.enumerated() where block.method == request.method {
      switch block.condition {
      case .once where isUsed.insert(index).inserted: return block
      case .once: continue
      case .always: return block
      case .with(let text) where request.head.contains(fill(text, for: request)): return block
      case .without(let text) where !request.head.contains(fill(text, for: request)): return block
      case .with, .without: continue
      }
    }
    return nil
  }

  private func usualSteps(for request: Request) -> [Script.Step] {
    usual.blocks.first { $0.method == request.method }?.steps ?? []
  }

  /// Notes the transport that the client asks for; a response's takes precedence.
  private mutating func agree(on request: Request) {
    guard request.method == "SETUP", let transport = request["Transport"],
      isOfFirstStream(request)
    else { return }
    note(transport: transport, on: request.connection)
  }

  /// Whether a SETUP is for the stream whose media is sent: the first one set up, with channels 0
  /// and 1.
  private func isOfFirstStream(_ request: Request) -> Bool {
    let channels = request["Transport"]?.split(separator: "interleaved=").dropFirst().first
    return channels?.hasPrefix("0-") ?? true
  }

  private mutating func note(transport: String, on connection: Connection) {
    func numbers(_ name: String) -> [Int]? {
      transport.split(whereSeparator: { ";,".contains($0) })
        .first { $0.trimmingCharacters(in: .whitespaces).hasPrefix(name + "=") }
        .map { $0.drop { $0 != "=" }.dropFirst().split(separator: "-").compactMap { Int($0) } }
    }
    if let channel = numbers("interleaved")?.first {
      // A second stream must not move the first one's channel.
      connections[connection]?.channel = channel
      connections[connection]?.ports = nil
    } else if let ports = numbers("client_port"), let media = ports.first {
      connections[connection]?.ports = (media, ports.count > 1 ? ports[1] : media + 1)
    }
  }

  // MARK: - Steps

  private mutating func takeOutputs(at now: Instant) -> [Output] {
    while let index = tasks.indices.filter({ tasks[$0].due <= now }).min(by: {
      (tasks[$0].due, $0) < (tasks[$1].due, $1)
    }) {
      run(tasks.remove(at: index), at: now)
    }
    defer { outputs.removeAll() }
    return outputs
  }

  private mutating func run(_ run: Run, at now: Instant) {
    switch run.duty {
    case .drip: letDrip(on: run.connection, at: now)
    case .watch(let seconds):
      guard let life = connections[run.connection]?.lastLife else { return }
      let due = life.advanced(by: .seconds(seconds))
      if due <= now {
        end(run.connection, with: .close(run.connection))
      } else {
        tasks.append(Run(connection: run.connection, due: due, duty: run.duty))
      }
    case .steps(var steps):
      while let step = steps.popLast() {
        guard connections[run.connection] != nil else { return }
        switch step {
        case .wait(let seconds):
          var rest = run
          rest.due = now.advanced(by: .seconds(seconds))
          rest.duty = .steps(steps)
          return tasks.append(rest)
        case .loop(let count, let body):
          if count > 1 { steps.append(.loop(count - 1, body)) }
          if count > 0 { steps += body.reversed() }
        case .standard: steps += run.request.map { usualSteps(for: $0).reversed() } ?? []
        default: perform(step, for: run.request, on: run.connection, at: now)
        }
      }
    }
  }

  private mutating func perform(
    _ step: Script.Step, for request: Request?, on connection: Connection, at now: Instant
  ) {
    switch step {
    case .respond(let message):
      emit(encode(message, start: "RTSP/1.0 ", for: request), on: connection, at: now)
      for line in message.headers
      where line.lowercased().hasPrefix("transport:") && request.map(isOfFirstStream) ?? true {
        note(transport: fill(line, for: request), on: connection)
      }
    case .request(let message):
      emit(encode(message, end: " RTSP/1.0", for: request), on: connection, at: now)
    case .text(let text): emit(bytes(of: fill(text, for: request)), on: connection, at: now)
    case .bytes(let bytes): emit(bytes, on: connection, at: now)
    case .garbage(let count):
      let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: garbage.next() >> 32) }
      emit(bytes.map { $0 == UInt8(ascii: "$") ? 0 : $0 }, on: connection, at: now)
    case .media(let step): perform(step, on: connection, at: now)
    case .drip(let interval): connections[connection]?.drip = interval
    case .endings(let text):
      let ending = fill(text, for: request)
      connections[connection]?.lineEnding = ending
    case .watchdog(let seconds):
      tasks.append(Run(connection: connection, due: now, duty: .watch(seconds)))
    case .silence: connections[connection]?.isSilent = true
    case .close: end(connection, with: .close(connection))
    case .reset: end(connection, with: .reset(connection))
    case .wait, .loop, .standard: break
    }
  }

  private mutating func perform(
    _ step: Script.MediaStep, on connection: Connection, at now: Instant
  ) {
    switch step.what {
    case .rewind: position = 0
    case .skip: position += step.count ?? 1
    case .again: carry(clip.packets[max(0, position - 1)].bytes, step, on: connection, at: now)
    case .packets:
      for _ in 0..<(step.count ?? 1) where position < clip.packets.count {
        carry(clip.packets[position].bytes, step, on: connection, at: now)
        position += 1
      }
    case .frames:
      guard position < clip.packets.count else { return }
      let limit = step.count.map { clip.packets[position].frame + $0 } ?? .max
      while position < clip.packets.count, clip.packets[position].frame < limit {
        carry(clip.packets[position].bytes, step, on: connection, at: now)
        position += 1
      }
    case .report, .goodbye:
      let reports = SenderReports()
      let (time, clock): (UInt32, UInt64) = (
        ClipPackets.initialTimestamp, 1_700_000_000_000_000_000
      )
      let bytes =
        step.what == .report
        ? reports.report(on: clip.account, timestamp: time, unixNanoseconds: clock)
        : reports.goodbye(of: clip.account, timestamp: time, unixNanoseconds: clock)
      carry(Array(bytes.readableBytesView), step, isControl: true, on: connection, at: now)
    case .raw: carry(step.bytes, step, on: connection, at: now)
    }
  }

  /// Sends a packet the way that was agreed on, or that the step asks for.
  private mutating func carry(
    _ packet: [UInt8], _ step: Script.MediaStep, isControl: Bool = false,
    on connection: Connection, at now: Instant
  ) {
    guard let dialogue = connections[connection] else { return }
    var packet = packet
    if let type = step.options["type"], packet.count > 1 {
      packet[1] = packet[1] & 0x80 | UInt8(truncatingIfNeeded: type)
    }
    if let ssrc = step.options["ssrc"], packet.count >= 12 {
      let at = isControl ? 4 : 8
      for byte in 0..<4 { packet[at + byte] = UInt8(truncatingIfNeeded: ssrc >> (24 - 8 * byte)) }
    }
    if let ports = dialogue.ports, step.options["tcp"] == nil {
      outputs.append(
        .datagram(packet, to: isControl ? ports.control : ports.media, isControl: isControl))
    } else {
      let channel = step.options["channel"] ?? dialogue.channel + (isControl ? 1 : 0)
      let header = [
        UInt8(ascii: "$"), UInt8(truncatingIfNeeded: channel),
        UInt8(truncatingIfNeeded: packet.count >> 8), UInt8(truncatingIfNeeded: packet.count),
      ]
      emit(header + packet, on: connection, at: now)
    }
  }

  // MARK: - Bytes

  private mutating func emit(_ bytes: [UInt8], on connection: Connection, at now: Instant) {
    guard let dialogue = connections[connection], dialogue.drip != nil else {
      return send(bytes, on: connection)
    }
    connections[connection]?.dripping += bytes
    if dialogue.dripping.isEmpty { letDrip(on: connection, at: now) }
  }

  /// Sends a byte, and the next one when its time has come.
  private mutating func letDrip(on connection: Connection, at now: Instant) {
    while let interval = connections[connection]?.drip,
      let byte = connections[connection]?.dripping.popFirst()
    {
      send([byte], on: connection)
      guard interval > 0 else { continue }
      let due = now.advanced(by: .seconds(interval))
      return tasks.append(Run(connection: connection, due: due, duty: .drip))
    }
    if let ending = connections[connection]?.ending { end(connection, with: ending) }
  }

  private mutating func send(_ bytes: [UInt8], on connection: Connection) {
    guard var dialogue = connections[connection] else { return }
    let room = byteLimit?(connection).map { $0 - dialogue.sent } ?? .max
    dialogue.sent += bytes.count
    connections[connection] = dialogue
    outputs.append(.send(connection, Array(bytes.prefix(max(0, room)))))
    if bytes.count >= room { end(connection, with: .close(connection)) }
  }

  private mutating func end(_ connection: Connection, with output: Output) {
    if connections[connection]?.dripping.isEmpty == false {
      connections[connection]?.ending = output
      return
    }
    outputs.append(output)
    closed(connection)
  }
}

internal import NIOCore
internal import RTPWire

/// A recorded TCP connection in both directions, searched for RTSP: its interleaved frames, and
/// what its messages say about them.
///
/// The connection may have begun before the capture, and may not be RTSP at all.
struct RTSPDialogue: Sendable {
  /// A packet interleaved in the connection (RFC 2326 §10.12).
  struct Frame: Sendable, Hashable {
    var channel: UInt8
    var bytes: ByteBuffer
  }

  /// The usual channels, if SETUP was not recorded.
  static let usualChannels: [UInt8] = [0, 1, 2, 3]
  /// How often a direction may turn out to be unreadable before it is given up.
  static let maximumFailures = 8

  /// The latest description, from the server or from whoever publishes.
  private(set) var description: SessionDescription?
  /// The RTCP channels by their RTP channel, from SETUP.
  private(set) var controlChannels: [UInt8: UInt8] = [:]
  /// The ports from which the server sends RTP, from SETUP.
  private(set) var serverPorts: Set<UInt16> = []
  /// The client's ports for RTCP by those for RTP, from SETUP.
  private(set) var controlPorts: [UInt16: UInt16] = [:]
  private var directions: [IPEndpoint: Direction] = [:]

  fileprivate struct Direction: Sendable {
    var stream = TCPReassembly()
    var input = RTSPInput()
    var failures = 0
  }

  var holes: UInt64 { directions.values.reduce(0) { $0 + $1.stream.holes } }

  /// Adds a segment from `source`, and hands out what it completed.
  mutating func receive(
    _ segment: TCPSegment, from source: IPEndpoint, at time: Int64, _ body: (Frame) -> Void
  ) -> TCPReassembly.Outcome {
    var direction =
      directions.removeValue(forKey: source) ?? Direction(channels: assignedChannels)
    let outcome = direction.stream.receive(segment, at: time)
    read(&direction, at: time, body)
    directions[source] = direction
    return outcome
  }

  /// Gives up what is missing at the end of the recording, and hands out what follows it.
  mutating func finish(at time: Int64, _ body: (IPEndpoint, Frame) -> Void) {
    for source in directions.keys.sorted(by: { $0.port < $1.port }) {
      guard var direction = directions.removeValue(forKey: source) else { continue }
      direction.stream.finish()
      read(&direction, at: time) { body(source, $0) }
      directions[source] = direction
    }
  }

  private mutating func read(
    _ direction: inout Direction, at time: Int64, _ body: (Frame) -> Void
  ) {
    while let piece = direction.stream.nextPiece() {
      guard case .bytes(let bytes) = piece else {
        // What was cut by the hole has no end.
        direction.input = RTSPInput(channels: assignedChannels)
        continue
      }
      guard direction.failures < Self.maximumFailures else { continue }
      direction.input.append(bytes)
      do throws(RTSPError) {
        while let element = try direction.input.next(at: Instant(nanoseconds: time)) {
          switch element {
          case .frame(let channel, let packet): body(Frame(channel: channel, bytes: packet))
          case .response(let response):
            learn(from: response)
            direction.input.assignedChannels = assignedChannels
          case .request(let request): learn(from: request)
          }
        }
      } catch {
        direction.failures += 1
        direction.input = RTSPInput(channels: assignedChannels)
      }
    }
  }

  private var assignedChannels: [UInt8] {
    controlChannels.isEmpty
      ? Self.usualChannels : controlChannels.flatMap { [$0.key, $0.value] }.sorted()
  }

  /// Whoever publishes describes the streams in ANNOUNCE (RFC 2326 §10.3).
  private mutating func learn(from request: RTSPRequest) {
    guard request.method == "ANNOUNCE" else { return }
    description = (try? SessionDescription(parsing: request.body)) ?? description
  }

  /// Responses have the rest: the SDP of DESCRIBE, the channels and ports of SETUP.
  private mutating func learn(from response: RTSPResponse) {
    guard (200..<300).contains(response.status) else { return }
    if !response.body.isEmpty, let description = try? SessionDescription(parsing: response.body) {
      self.description = description
    }
    guard let header = response.headers["Transport"].map({ TransportHeader($0) }) else { return }
    if let channels = header.interleaved {
      controlChannels[channels.media] = channels.control ?? channels.media &+ 1
    }
    if let port = header.serverPort.flatMap({ UInt16(exactly: $0.media) }) {
      serverPorts.insert(port)
    }
    if let pair = header.clientPort, let media = UInt16(exactly: pair.media),
      let control = pair.control.flatMap({ UInt16(exactly: $0) })
    {
      controlPorts[media] = control
    }
  }
}

extension RTSPDialogue.Direction {
  fileprivate init(channels: [UInt8]) { input = RTSPInput(channels: channels) }
}

extension RTSPInput {
  fileprivate init(channels: [UInt8]) {
    self.init()
    assignedChannels = channels
  }
}

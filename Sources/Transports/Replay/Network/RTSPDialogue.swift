internal import NIOCore
internal import RTPWire

/// A recorded TCP connection in both directions, looked through for RTSP: the frames in it, and
/// what its messages say about them.
///
/// A connection may have been going on when the capture began, and may be anything but RTSP.
struct RTSPDialogue: Sendable {
  /// A packet that was interleaved in the connection (RFC 2326 §10.12).
  struct Frame: Sendable, Hashable {
    var channel: UInt8
    var bytes: ByteBuffer
  }

  /// Where nobody says which channels there are, these are common.
  static let usualChannels: [UInt8] = [0, 1, 2, 3]
  /// Times that a direction may turn out to be incomprehensible before it is let go.
  static let maximumFailures = 8

  /// What the server described last.
  private(set) var description: SessionDescription?
  /// The RTCP channels by the RTP channel they belong to, as SETUP agreed on them.
  private(set) var controlChannels: [UInt8: UInt8] = [:]
  private var directions: [IPEndpoint: Direction] = [:]

  fileprivate struct Direction: Sendable {
    var stream = TCPReassembly()
    var input = RTSPInput()
    var failures = 0
  }

  var holes: UInt64 { directions.values.reduce(0) { $0 + $1.stream.holes } }

  /// Takes in a segment from `source`, and hands out what became whole by it.
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

  /// Gives up what is missing at the end of the recording, and hands out what lies behind it.
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
        // What the hole cut has no end.
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
          case .request: break
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

  /// Responses say all that is needed: SDP of DESCRIBE, channels of SETUP.
  private mutating func learn(from response: RTSPResponse) {
    guard (200..<300).contains(response.status) else { return }
    if !response.body.isEmpty, let description = try? SessionDescription(parsing: response.body) {
      self.description = description
    }
    if let text = response.headers["Transport"],
      let channels = TransportHeader(text).interleaved
    {
      controlChannels[channels.media] = channels.control ?? channels.media &+ 1
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

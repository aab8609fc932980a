import Impairment
import NIOCore
import RTPWire

/// The way between one client and its far end, through a bad network in each direction: a value on
/// a virtual clock.
struct ProxyPath {
  enum Direction: CaseIterable {
    case toServer, toClient

    var opposite: Direction { self == .toServer ? .toClient : .toServer }
  }

  /// What leaves the network.
  struct Departure {
    var bytes: ByteBuffer
    var direction: Direction
    /// The channel that it came on: 0 for media and 1 for RTCP, or that of RTSP.
    var channel: Int
  }

  /// One direction.
  private struct Lane {
    var network: NetworkSimulator
    var renumbering: Renumbering
  }

  private var toServer: Lane
  private var toClient: Lane
  private var start: Instant?

  /// A path of its own number, which gives it its own random numbers.
  ///
  /// - Parameters:
  ///   - plan: whose clock starts with the first RTP packet.
  ///   - seed: that of the run.
  ///   - number: that of the path.
  ///   - client: its name in verdicts.
  ///   - recordsVerdicts: whether somebody wants them.
  init(_ plan: Plan, seed: UInt64, number: Int, client: String, recordsVerdicts: Bool) {
    func lane(_ flow: Int, _ name: String) -> Lane {
      var network = NetworkSimulator(
        plan, seed: seed, flow: flow, name: name, startsByItself: false)
      network.recordsVerdicts = recordsVerdicts
      return Lane(
        network: network, renumbering: Renumbering(plan, seed: seed ^ UInt64(flow + 1) << 40))
    }
    toClient = lane(2 * number, "to \(client)")
    toServer = lane(2 * number + 1, "from \(client)")
  }

  /// Takes a datagram, or the contents of an interleaved frame.
  mutating func offer(_ bytes: ByteBuffer, _ direction: Direction, channel: Int, at now: Instant) {
    // A read may hold many datagrams in one buffer, which this one must not keep in memory.
    var packet = ByteBufferAllocator().buffer(capacity: bytes.readableBytes)
    packet.writeImmutableBuffer(bytes)
    let isControl = RTCPPacket.recognizes(packet)
    if start == nil, !isControl, (try? RTPPacket(parsing: packet)) != nil {
      start = now
      toServer.network.begin(at: now)
      toClient.network.begin(at: now)
    }
    if let start {
      let elapsed = start.nanoseconds(to: now)
      // What goes one way speaks of what comes the other way.
      change(direction.opposite) { $0.renumbering.restore(&packet) }
      change(direction) { $0.renumbering.change(&packet, at: elapsed) }
    }
    // The times of RTCP are random; the verdicts about the media must not depend on them.
    change(direction) {
      $0.network.offer(packet, label: channel, at: now, isAnswer: isControl)
    }
  }

  /// When something leaves next.
  var deadline: Instant? {
    [toServer.network.nextRelease, toClient.network.nextRelease].compactMap(\.self).min()
  }

  /// Takes out what leaves by `now`.
  mutating func departure(by now: Instant) -> Departure? {
    for direction in Direction.allCases {
      if let release = change(direction, { $0.network.release(by: now) }) {
        return Departure(bytes: release.bytes, direction: direction, channel: release.label)
      }
    }
    return nil
  }

  /// Both directions together.
  var counters: ImpairmentCounters {
    var sum = toServer.network.counters
    sum.add(toClient.network.counters)
    return sum
  }

  mutating func takeVerdicts() -> [Verdict] {
    toServer.network.takeVerdicts() + toClient.network.takeVerdicts()
  }

  private mutating func change<Result>(
    _ direction: Direction, _ body: (inout Lane) -> Result
  ) -> Result {
    direction == .toServer ? body(&toServer) : body(&toClient)
  }
}

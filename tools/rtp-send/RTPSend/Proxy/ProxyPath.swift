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
    var quirky = QuirkyPackets()
  }

  private var toServer: Lane
  private var toClient: Lane
  private let plan: Plan
  private let hasQuirks: Bool
  private var start: Instant?
  /// Which way the media goes.
  private var mediaDirection: Direction?
  private let number: Int

  /// A path of its own number, which gives it its own random numbers.
  ///
  /// Media has those that a sender's track of that number has, whichever way it goes.
  ///
  /// - Parameters:
  ///   - plan: whose clock starts with the first RTP packet.
  ///   - seed: that of the run.
  ///   - number: that of the path.
  ///   - client: its name in verdicts.
  ///   - recordsVerdicts: whether somebody wants them.
  init(_ plan: Plan, seed: UInt64, number: Int, client: String, recordsVerdicts: Bool) {
    self.number = number
    self.plan = plan
    hasQuirks = plan.quirksEver.contains { $0.place == .packets }
    func lane(_ flow: Int, _ name: String) -> Lane {
      var network = NetworkSimulator(
        plan, seed: seed, flow: flow, name: name, startsByItself: false)
      network.recordsVerdicts = recordsVerdicts
      let salt = UInt64(bitPattern: Int64(flow)) &+ 1
      return Lane(network: network, renumbering: Renumbering(plan, seed: seed ^ salt << 40))
    }
    toClient = lane(number, "to \(client)")
    toServer = lane(~number, "from \(client)")
  }

  /// Takes a datagram, or the contents of an interleaved frame.
  mutating func offer(_ bytes: ByteBuffer, _ direction: Direction, channel: Int, at now: Instant) {
    // A read may hold many datagrams in one buffer, which this one must not keep in memory.
    var packet = ByteBufferAllocator().buffer(capacity: bytes.readableBytes)
    packet.writeImmutableBuffer(bytes)
    let isControl = RTCPPacket.recognizes(packet)
    let isMedia = !isControl && (try? RTPPacket(parsing: packet)) != nil
    if start == nil, isMedia {
      start = now
      mediaDirection = direction
      let number = number
      change(direction) { $0.network.begin(at: now, asFlow: number) }
      change(direction.opposite) { $0.network.begin(at: now, asFlow: ~number) }
    }
    var packets = [packet]
    var channel = channel
    if let start {
      let elapsed = start.nanoseconds(to: now)
      // What goes one way speaks of what comes the other way.
      change(direction.opposite) { $0.renumbering.restore(&packet) }
      change(direction) { $0.renumbering.change(&packet, at: elapsed) }
      packets = [packet]
      if hasQuirks, direction == mediaDirection {
        let quirks = plan.quirks(at: elapsed)
        if isMedia {
          packets = change(direction) { $0.quirky.apply(quirks, to: packet) }
        } else {
          QuirkyPackets.apply(quirks, toReports: &packets[0])
          // The media has the even one of two ports or channels.
          if quirks.contains(.rtcpAmongMedia) { channel &= ~1 }
        }
      }
    }
    let kind: NetworkSimulator.Kind = isMedia ? .media : isControl ? .control : .answer
    for packet in packets {
      change(direction) { $0.network.offer(packet, label: channel, at: now, as: kind) }
    }
  }

  /// Whether nothing is on its way in a direction.
  func isEmpty(_ direction: Direction) -> Bool {
    (direction == .toServer ? toServer : toClient).network.pendingCount == 0
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
    var sum = ImpairmentCounters()
    for network in [toServer.network, toClient.network] {
      sum.add(network.counters)
      sum.add(network.controlCounters)
    }
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

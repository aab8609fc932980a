import NIOCore
import RTPProcessor
import RTPWire
import Testing

/// One packet as a test's sender makes it; ``identity`` is its payload, so that it is known again.
struct SentPacket: Sendable, Hashable {
  var sequence: UInt16
  var timestamp: UInt32 = 0
  var ssrc: UInt32 = 0xA
  var payloadType: UInt8 = 96
  var marker = false
  var identity: UInt64 = 0
  /// The length of the payload, at least the eight bytes of ``identity``.
  var payloadLength = 8

  var bytes: ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: 12 + payloadLength)
    buffer.writeMultipleIntegers(
      UInt8(0x80), payloadType | (marker ? 0x80 : 0), sequence, timestamp, ssrc, identity)
    buffer.writeRepeatingByte(0x5A, count: max(0, payloadLength - 8))
    return buffer
  }
}

/// A packet that came out, and when.
struct Delivery: Sendable {
  let packet: OrderedPacket
  let time: Instant

  var identity: UInt64 {
    let payload = packet.packet.payload
    return payload.getInteger(at: payload.readerIndex) ?? .max
  }

  var sequence: UInt16 { packet.packet.sequenceNumber.rawValue }
}

/// A processor on a virtual clock that fires every deadline on time and checks, after each
/// operation, all that must always hold.
struct VirtualSession {
  private(set) var processor: RTPProcessor
  private(set) var now: Instant
  private(set) var deliveries: [Delivery] = []
  private var identities: Set<UInt64> = []
  /// Set where old packets are sent again so wildly that they look like a sender's new start.
  var allowsRepetition = false
  /// Whether other types use numbers too, unannounced.
  var leavesNumbersOut = false
  private var isEntryPoint: @Sendable (RTPPacket) -> Bool = { _ in false }

  init(
    start: Instant = Instant(nanoseconds: 0), configuration: RTPProcessor.Configuration = .init(),
    isEntryPoint: @escaping @Sendable (RTPPacket) -> Bool = { _ in false }
  ) {
    processor = RTPProcessor(configuration: configuration)
    now = start
    self.isEntryPoint = isEntryPoint
  }

  /// The same with a reorder window of `window`.
  init(
    window: Duration, start: Instant = Instant(nanoseconds: 0),
    isEntryPoint: @escaping @Sendable (RTPPacket) -> Bool = { _ in false }
  ) {
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = window
    self.init(start: start, configuration: configuration, isEntryPoint: isEntryPoint)
  }

  var statistics: ReceptionStatistics { processor.statistics }
  var sequences: [UInt16] { deliveries.map(\.sequence) }
  var deliveredIdentities: [UInt64] { deliveries.map(\.identity) }
  /// How many packets came out as lost, over all of them.
  var reportedLosses: [Int] { deliveries.map(\.packet.lostBefore).filter { $0 > 0 } }
  var discontinuities: Int { deliveries.count { $0.packet.isDiscontinuity } }

  /// Advances the clock to `instant`; whatever is due on the way happens at its time.
  mutating func run(to instant: Instant) {
    while let deadline = processor.deadline, deadline <= instant {
      now = max(now, deadline)
      drain()
    }
    now = max(now, instant)
  }

  mutating func run(for duration: Duration) { run(to: now.advanced(by: duration)) }

  /// Hands in one packet now.
  @discardableResult
  mutating func receive(_ packet: SentPacket) -> PacketOutcome { receive(packet.bytes) }

  /// Hands in one datagram now.
  @discardableResult
  mutating func receive(
    _ bytes: ByteBuffer, on channel: Datagram.Channel = .media
  ) -> PacketOutcome {
    let datagram = Datagram(bytes: bytes, arrival: now, channel: channel)
    let outcome = processor.receive(datagram, isEntryPoint: isEntryPoint)
    drain()
    return outcome
  }

  /// What is said to the sender now.
  mutating func takeFeedback() -> [RTCPFeedback] {
    var messages: [RTCPFeedback] = []
    while let message = processor.nextFeedback(at: now) { messages.append(message) }
    if let deadline = processor.feedbackDeadline, deadline <= now {
      Issue.record("what was to be said at \(deadline) is not said at \(now)")
    }
    return messages
  }

  mutating func wantKeyPicture() { processor.wantKeyPicture(at: now) }

  var unansweredKeyPictureRequests: Int { processor.unansweredKeyPictureRequests(at: now) }

  mutating func noteKeyPicture() { processor.noteKeyPicture() }

  mutating func finish(isWhole: Bool = false) {
    processor.finish(isWhole: isWhole)
    drain()
  }

  /// Takes out all that is ready, and checks what must hold at any time.
  mutating func drain() {
    while let packet = processor.next(at: now) {
      let delivery = Delivery(packet: packet, time: now)
      if !identities.insert(delivery.identity).inserted, !allowsRepetition {
        Issue.record("\(delivery.sequence) came out twice")
      }
      // Correction packets have numbers too, and do not come out.
      if let last = deliveries.last?.packet, !packet.isDiscontinuity,
        processor.configuration.correctionFormats.isEmpty, !leavesNumbersOut,
        packet.extendedSequence != last.extendedSequence + 1 + Int64(packet.lostBefore)
      {
        Issue.record("\(last.extendedSequence) is followed by \(packet.extendedSequence)")
      }
      deliveries.append(delivery)
    }
    checkInvariants()
  }

  private func checkInvariants() {
    let statistics = processor.statistics
    let configuration = processor.configuration
    if !statistics.isBalanced { Issue.record("the counters do not balance: \(statistics)") }
    // After a gap and on probation, each up to the limit, and two packets of each prospect.
    if statistics.held > UInt64(2 * max(configuration.maximumHeldPackets, 0) + 128) {
      Issue.record("\(statistics.held) packets are held")
    }
    if let deadline = processor.deadline, deadline <= now {
      Issue.record("what was due at \(deadline) is not done at \(now)")
    }
    if statistics.delivered != UInt64(deliveries.count) {
      Issue.record("\(statistics.delivered) counted, \(deliveries.count) came out")
    }
  }
}

extension Instant {
  static func milliseconds(_ count: Int64) -> Instant {
    Instant(nanoseconds: count * 1_000_000)
  }
}

/// A sender of video with continuous numbers, timestamps and identities.
struct VirtualSender {
  var next: SentPacket
  /// Clock ticks between two frames.
  var ticksPerFrame: UInt32 = 3000
  private var packetInFrame = 0
  var packetsPerFrame = 1
  /// Whether the last packet of a frame says that it is the last.
  var setsMarkers = false

  init(
    sequence: UInt16 = 1000, timestamp: UInt32 = 90_000, ssrc: UInt32 = 0xA,
    packetsPerFrame: Int = 1, firstIdentity: UInt64 = 1
  ) {
    next = SentPacket(
      sequence: sequence, timestamp: timestamp, ssrc: ssrc, identity: firstIdentity)
    self.packetsPerFrame = packetsPerFrame
  }

  mutating func packet() -> SentPacket {
    var packet = next
    next.sequence &+= 1
    next.identity += 1
    packetInFrame += 1
    packet.marker = setsMarkers && packetInFrame >= packetsPerFrame
    if packetInFrame >= packetsPerFrame {
      packetInFrame = 0
      next.timestamp &+= ticksPerFrame
    }
    return packet
  }

  mutating func packets(_ count: Int) -> [SentPacket] { (0..<count).map { _ in packet() } }
}

extension VirtualSession {
  /// A session in which `sender` is validated; all its packets so far have come out.
  static func running(
    _ sender: inout VirtualSender, configuration: RTPProcessor.Configuration = .init(),
    start: Instant = Instant(nanoseconds: 0), every interval: Duration = .milliseconds(1),
    packets: Int = 10
  ) -> VirtualSession {
    var session = VirtualSession(
      start: start, configuration: configuration, isEntryPoint: { _ in true })
    for packet in sender.packets(packets) {
      session.receive(packet)
      session.run(for: interval)
    }
    return session
  }
}

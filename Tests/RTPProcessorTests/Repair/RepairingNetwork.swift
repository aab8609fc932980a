import Impairment
import NIOCore
import RTPProcessor
import RTPWire

/// A sender that answers requests, a receiver, and a network between them that loses packets in
/// both directions, all on a virtual clock with steps of a millisecond.
struct RepairingNetwork {
  /// How the sender answers.
  enum Answers: String, CaseIterable, Sendable {
    case never
    /// The packets again, as they were.
    case plainly
    /// In a separate stream (RFC 4588).
    case inOwnStream
    /// In a separate session, with the SSRC and the payload type of the media.
    case inOwnSession
  }

  static let retransmissionPayloadType: UInt8 = 97

  private(set) var session: VirtualSession
  /// When each packet was sent for the first time, by its identity.
  private(set) var sent: [UInt64: Instant] = [:]
  private(set) var messages: [RTCPFeedback] = []
  var answers: Answers

  private var sender = VirtualSender(sequence: 65_000)
  /// What loses packets on their way to the receiver, and what loses none of them.
  private var lossy: NetworkSimulator
  private var safe: NetworkSimulator
  /// The way of requests, which are named by their places among the messages.
  private var back: NetworkSimulator
  private var history: [UInt16: SentPacket] = [:]
  private var retransmissions: UInt16 = 7

  /// A network that loses a share of the packets, one by one, and delays them by milliseconds.
  init(
    seed: UInt64, answers: Answers, asks: Bool = true, window: Duration = .milliseconds(200),
    loss: Double = 0.05, delay: Int64 = 15
  ) {
    self.answers = answers
    var impairments = Impairments()
    impairments.delay.mean = delay * 1_000_000
    impairments.delay.keepsOrder = false
    safe = NetworkSimulator(impairments, seed: seed)
    impairments.loss = loss
    lossy = NetworkSimulator(impairments, seed: seed)
    back = NetworkSimulator(Plan(impairments), seed: seed, flow: 1)
    // As often as they are sent, so that the network alone makes jitter.
    sender.ticksPerFrame = 180
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = 96
    configuration.reorderWindow = window
    if asks { configuration.feedback = [.nack] }
    if answers == .inOwnStream {
      configuration.retransmissionFormats = [
        Self.retransmissionPayloadType: RetransmissionFormat(original: 96)
      ]
    }
    if answers == .inOwnSession {
      configuration.retransmissionSession = [96: RetransmissionFormat(original: 96)]
    }
    session = VirtualSession(configuration: configuration, isEntryPoint: { _ in true })
  }

  /// Sends `count` packets, one every `interval` milliseconds, and lets everything come to rest.
  mutating func run(packets count: Int, every interval: Int = 2) {
    for number in 0..<count {
      // A packet that nothing follows cannot be missed.
      send(sender.packet(), isSafe: number < 2 || number + 2 >= count)
      for _ in 0..<interval { step() }
    }
    while session.processor.deadline != nil || lossy.pendingCount + safe.pendingCount > 0 { step() }
  }

  /// The same with access units of `length` packets, of which the last loses its last `tail` and
  /// not the one before them.
  mutating func run(units: Int, of length: Int, losing tail: Int) {
    sender.packetsPerFrame = length
    sender.ticksPerFrame = UInt32(180 * length)
    sender.setsMarkers = true
    for number in 0..<units * length {
      if number >= units * length - tail {
        loseOne()
      } else {
        send(sender.packet(), isSafe: number < 2 || number == units * length - tail - 1)
      }
      for _ in 0..<2 { step() }
    }
    for _ in 0..<3000 { step() }
  }

  /// Sends the next packet so that it arrives `lateness` milliseconds later than it would.
  mutating func send(lateness: Int64) { send(sender.packet(), isSafe: true, lateness: lateness) }

  /// Sends the next packet and loses it.
  mutating func loseOne() {
    let packet = sender.packet()
    sent[packet.identity] = session.now
    history[packet.sequence] = packet
  }

  mutating func step() {
    session.run(for: .milliseconds(1))
    let now = session.now
    while let request = back.release(by: now) { answer(messages[request.label]) }
    while let release = lossy.release(by: now) ?? safe.release(by: now) {
      session.receive(release.bytes, on: release.label == 0 ? .media : .retransmission)
    }
    for message in session.takeFeedback() {
      back.offer(ByteBuffer(), label: messages.count, at: now)
      messages.append(message)
    }
  }

  /// The longest time from sending to delivery.
  var greatestLatency: Int64 {
    session.deliveries.compactMap { delivery in
      sent[delivery.identity]?.nanoseconds(to: delivery.time)
    }.max() ?? 0
  }

  private mutating func send(_ packet: SentPacket, isSafe: Bool, lateness: Int64 = 0) {
    sent[packet.identity] = session.now
    history[packet.sequence] = packet
    let now = session.now.advanced(by: .milliseconds(lateness))
    if isSafe {
      safe.offer(packet.bytes, at: now)
    } else {
      lossy.offer(packet.bytes, at: now)
    }
  }

  private mutating func answer(_ message: RTCPFeedback) {
    guard case .genericNACK(_, let entries) = message, answers != .never else { return }
    for number in entries.flatMap(\.numbers) {
      guard let packet = history[number.rawValue] else { continue }
      var bytes = packet.bytes
      if answers != .plainly, let original = try? RTPPacket(parsing: bytes) {
        let isApart = answers == .inOwnSession
        bytes = original.retransmission(
          payloadType: isApart ? 96 : Self.retransmissionPayloadType,
          ssrc: isApart ? original.ssrc : 0xB, sequenceNumber: SequenceNumber(retransmissions))
        retransmissions &+= 1
      }
      lossy.offer(
        bytes, label: answers == .inOwnSession ? 1 : 0, at: session.now, as: .answer)
    }
  }
}

import NIOCore
import RTPProcessor
import RTPWire
import TestSupport

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
  /// The share of packets lost, one by one.
  var loss = 0.05
  /// In milliseconds, one way.
  var delay: Int64 = 15

  private var sender = VirtualSender(sequence: 65_000)
  private var noise: SeededGenerator
  private var history: [UInt16: SentPacket] = [:]
  private var retransmissions: UInt16 = 7
  private var toReceiver: [(at: Instant, bytes: ByteBuffer, channel: Datagram.Channel)] = []
  private var toSender: [(at: Instant, message: RTCPFeedback)] = []

  init(seed: UInt64, answers: Answers, asks: Bool = true, window: Duration = .milliseconds(200)) {
    self.answers = answers
    noise = SeededGenerator(seed: seed)
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
    while session.processor.deadline != nil || !toReceiver.isEmpty { step() }
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
    // Ordered by time, then by sending.
    for (_, message) in toSender.filter({ $0.at <= now }) { answer(message) }
    toSender.removeAll { $0.at <= now }
    for (_, bytes, channel) in toReceiver.filter({ $0.at <= now }).sorted(by: { $0.at < $1.at }) {
      session.receive(bytes, on: channel)
    }
    toReceiver.removeAll { $0.at <= now }
    for message in session.takeFeedback() {
      messages.append(message)
      if !isLost() { toSender.append((now.advanced(by: .milliseconds(delay)), message)) }
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
    let isLost = isLost()
    if isSafe || !isLost { carry(packet.bytes, lateness: lateness) }
  }

  private mutating func carry(
    _ bytes: ByteBuffer, lateness: Int64 = 0, on channel: Datagram.Channel = .media
  ) {
    toReceiver.append((session.now.advanced(by: .milliseconds(delay + lateness)), bytes, channel))
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
      if !isLost() { carry(bytes, on: answers == .inOwnSession ? .retransmission : .media) }
    }
  }

  private mutating func isLost() -> Bool {
    Double.random(in: 0..<1, using: &noise) < loss
  }
}

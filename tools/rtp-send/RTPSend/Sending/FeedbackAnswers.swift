import NIOCore
public import RTPWire

/// What a receiver may ask for, and how it is answered.
public struct FeedbackConfiguration: Sendable, Hashable {
  /// The requests that are answered; others are ignored.
  public var requests: Set<FeedbackRequest> = []
  /// The payload type of retransmissions in a separate stream (RFC 4588); without it, packets are
  /// repeated unchanged.
  public var retransmissionPayloadType: UInt8?
  /// Whether these use the SSRC of the media and a separate port (RFC 4588 §5.3).
  public var hasRetransmissionSession = false

  /// How far above the port of the media what is sent again goes.
  public var portOffset: Int { hasRetransmissionSession ? 2 : 0 }

  public init() {}
}

/// What receivers asked for, and what they were given.
public struct FeedbackCounters: Sendable, Hashable {
  /// RTCP that a receiver sent and that was understood.
  public var compounds = 0
  /// Requested packets, counted with each request.
  public var requested = 0
  /// Packets that were sent again; the others were forgotten or never sent.
  public var resent = 0
  /// Requests for a key picture: picture loss indications, and commands by full intra request.
  public var keyPictures = 0

  public init() {}

  mutating func add(_ other: FeedbackCounters) {
    compounds += other.compounds
    requested += other.requested
    resent += other.resent
    keyPictures += other.keyPictures
  }
}

/// Remembers sent packets, and answers requests (RFC 4585, RFC 4588, RFC 5104).
struct FeedbackAnswers {
  /// How many packets are remembered: some seconds of video.
  static let capacity = 4096
  /// The most packets sent again for one message, so that no message causes a flood.
  static let maximumAnswers = 256
  /// The most receivers whose commands are remembered; more must be forged.
  static let maximumRequesters = 64

  private(set) var counters = FeedbackCounters()
  private let configuration: FeedbackConfiguration
  private let payloadType: UInt8
  /// By the lowest bits of their numbers: in clear where they are sent in another form.
  private var history: [ByteBuffer?]
  private let ssrc: UInt32
  private var sequence: SequenceNumber
  /// The last command of each receiver, which has its own numbering (RFC 5104 §4.3.1.1).
  private var lastCommands: [UInt32: UInt8] = [:]

  /// Answers for a stream whose media packets are remembered.
  init(_ configuration: FeedbackConfiguration, of stream: RTPStream.Configuration) {
    self.configuration = configuration
    payloadType = stream.payloadType & 0x7F
    history = Array(
      repeating: nil, count: configuration.requests.contains(.nack) ? Self.capacity : 0)
    var dice = SplitMix64(seed: UInt64(stream.ssrc) << 32 | 1)
    let drawn = UInt32(truncatingIfNeeded: dice.next())
    ssrc = configuration.hasRetransmissionSession ? stream.ssrc : drawn
    sequence = SequenceNumber(UInt16(truncatingIfNeeded: dice.next()))
  }

  /// Whether anything is remembered, because receivers may ask for it.
  var remembers: Bool { !history.isEmpty }

  /// Remembers a packet, which is sent as `sent`.
  mutating func remember(_ packet: ByteBuffer, sentAs sent: ByteBuffer) {
    guard remembers, let number = Self.number(of: packet) else { return }
    history[Int(number) % history.count] =
      configuration.retransmissionPayloadType == nil ? sent : packet
  }

  /// What answers `message`: packets that have to be protected still, or have to be sent as they
  /// are.
  mutating func take(_ message: RTCPFeedback, from requester: UInt32) -> Answer {
    switch message {
    case .genericNACK(let media, let entries) where configuration.requests.contains(.nack):
      let numbers = entries.prefix(Self.maximumAnswers).flatMap(\.numbers)
      counters.requested += numbers.count
      let packets = numbers.prefix(Self.maximumAnswers).compactMap { packet($0, of: media) }
      counters.resent += packets.count
      return configuration.retransmissionPayloadType == nil ? .asSent(packets) : .clear(packets)
    case .pictureLossIndication where configuration.requests.contains(.pli):
      counters.keyPictures += 1
      return .keyPicture
    case .fullIntraRequest(let requests) where configuration.requests.contains(.fir):
      // One with the same number is the same command (RFC 5104 §4.3.1.2).
      guard let number = requests.first?.number, number != lastCommands[requester] else {
        return .clear([])
      }
      if lastCommands.count >= Self.maximumRequesters { lastCommands.removeAll() }
      lastCommands[requester] = number
      counters.keyPictures += 1
      return .keyPicture
    default: return .clear([])
    }
  }

  enum Answer {
    case asSent([ByteBuffer])
    case clear([ByteBuffer])
    case keyPicture
  }

  mutating func noteCompound() { counters.compounds += 1 }

  /// Other tracks have the same numbers, and their requests come here too.
  private mutating func packet(_ number: SequenceNumber, of media: UInt32) -> ByteBuffer? {
    guard remembers, let packet = history[Int(number.rawValue) % history.count] else {
      return nil
    }
    guard Self.number(of: packet) == number.rawValue,
      packet.getInteger(at: packet.readerIndex + 8) == media
    else { return nil }
    guard let type = configuration.retransmissionPayloadType else { return packet }
    // Correction packets among the media have another type than the one that is repeated.
    guard let original = try? RTPPacket(parsing: packet), original.payloadType == payloadType
    else { return nil }
    defer { sequence = sequence.next }
    return original.retransmission(payloadType: type, ssrc: ssrc, sequenceNumber: sequence)
  }

  private static func number(of packet: ByteBuffer) -> UInt16? {
    packet.getInteger(at: packet.readerIndex + 2)
  }
}

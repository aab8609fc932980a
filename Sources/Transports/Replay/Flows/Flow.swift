internal import NIOCore
internal import RTPWire

/// Where a stream's packets appear in a recording, together with their RTCP.
enum FlowPlace: Sendable, Hashable {
  /// A destination port, whatever the source, just as a receiver listens.
  case port(IPEndpoint)
  case channel(source: IPEndpoint, destination: IPEndpoint, UInt8)
  case file

  /// The place of a carrier's packets; RTCP has its own place.
  init(_ carrier: CarriedPacket.Carrier) {
    switch carrier {
    case .udp(_, let destination): self = .port(destination)
    case .interleaved(let source, let destination, let channel):
      self = .channel(source: source, destination: destination, channel)
    case .file: self = .file
    }
  }

  /// The place of RTCP that is not multiplexed, where nothing else is agreed upon (RFC 3550 §11).
  var next: FlowPlace? {
    switch self {
    case .port(let own): .port(own.nextPort())
    case .channel(let source, let destination, let channel):
      .channel(source: source, destination: destination, channel &+ 1)
    case .file: nil
    }
  }
}

/// The survey's findings about one RTP source.
struct Flow: Sendable {
  let place: FlowPlace
  let ssrc: UInt32
  /// The sender's address, where there is one.
  let source: IPEndpoint?
  /// Of its first packet.
  let payloadType: UInt8
  private(set) var packets: UInt64 = 0
  private(set) var bytes: UInt64 = 0
  private(set) var markers: UInt64 = 0
  /// Packets that carry another timestamp than the one before.
  private(set) var timestamps: UInt64 = 0
  /// Whether each payload so far has the length of a telephone event.
  private var hasShapeOfEvents = true
  /// Packets whose number is at most ``nearness`` from that of the one before.
  private var inSequence: UInt64 = 0
  /// Packets that are the one before once more: `tcpdump -i any` sees each at the bridge and behind
  /// it, and some switches mirror both directions.
  private(set) var repeated: UInt64 = 0
  private var last: (number: SequenceNumber, timestamp: UInt32)?
  private(set) var reception: FlowReception
  /// Packets whose payloads begin differently, to recognize the codec; empty unless wanted.
  private(set) var samples: [ByteBuffer] = []
  private var beginnings: Set<UInt16> = []

  static let maximumSamples = 32
  /// Bytes of a telephone event (RFC 4733 §2.3).
  private static let eventLength = 4

  /// The largest distance between neighbours, including loss and reordering.
  private static let nearness = 100

  init(_ packet: RTPPacket, at place: FlowPlace, from source: IPEndpoint?, time: Int64) {
    reception = FlowReception(packet, at: time)
    self.place = place
    ssrc = packet.ssrc
    payloadType = packet.payloadType
    self.source = source
    count(packet)
  }

  mutating func observe(_ packet: RTPPacket, at time: Int64) {
    let before = repeated
    count(packet)
    // What was recorded twice did not make up for a loss.
    if repeated == before { reception.observe(packet, at: time) }
  }

  /// Notes a packet that was recorded only in part, and counts with no other figure than the loss.
  mutating func noteCut(_ packet: RTPPacket, at time: Int64) {
    reception.observe(packet, at: time)
  }

  /// Keeps the packet as a sample if its payload begins differently from the others.
  mutating func sample(_ packet: RTPPacket) {
    guard samples.count < Self.maximumSamples else { return }
    let payload = packet.payload
    guard let beginning = payload.getInteger(at: payload.readerIndex, as: UInt16.self),
      beginnings.insert(beginning).inserted
    else { return }
    samples.append(ByteBuffer(buffer: packet.bytes))
  }

  private mutating func count(_ packet: RTPPacket) {
    if packet.payload.readableBytes != Self.eventLength { hasShapeOfEvents = false }
    packets += 1
    bytes += UInt64(packet.bytes.readableBytes)
    if let last, last == (packet.sequenceNumber, packet.timestamp) {
      repeated += 1
      return
    }
    if packet.marker { markers += 1 }
    if last?.timestamp != packet.timestamp { timestamps += 1 }
    if let last {
      let step = last.number.distance(to: packet.sequenceNumber)
      if step != 0, step.magnitude <= Self.nearness { inSequence += 1 }
    }
    last = (packet.sequenceNumber, packet.timestamp)
  }

  /// Whether this is certainly RTP, and not just a few packets that look like it.
  var isConfirmed: Bool { inSequence >= 2 && inSequence * 2 >= different }

  /// Whether timestamps and markers look like pictures: several packets per timestamp, or a marker
  /// on each (RFC 3551 sets it on audio only at the start of talk).
  var looksLikeVideo: Bool { hasShapeOfVideo && assignment?.kind != .audio }

  /// The meaning of its payload type, if the packets do not contradict; `nil` for dynamic types,
  /// and for pictures, whose packets say more.
  var assignedSound: MediaDescription? {
    assignment.flatMap { $0.kind == .audio && !hasShapeOfVideo ? $0 : nil }
  }

  /// The static assignment of its payload type (RFC 3551).
  var assignment: MediaDescription? {
    StaticPayloadType(payloadType).map { _ in MediaDescription(onlyPayloadType: payloadType) }
  }

  private var hasShapeOfVideo: Bool {
    // The packets of a key that is held have one timestamp (RFC 4733 §2.2), like those of a
    // picture.
    guard isConfirmed, different >= 4, !hasShapeOfEvents else { return false }
    return different >= timestamps * 5 / 4 + 1 || markers * 2 >= different
  }

  private var different: UInt64 { packets - repeated }
}

extension Flow: CustomStringConvertible {
  /// One line of a list of flows.
  var description: String {
    let way =
      switch place {
      case .port(let destination): "\(source.map { "\($0) " } ?? "")→ \(destination)"
      case .channel(let source, let destination, let channel):
        "\(source) → \(destination), channel \(channel)"
      case .file: source.map { "\($0)" } ?? "packets"
      }
    let digits = String(ssrc, radix: 16)
    let padded = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    return "\(way): --ssrc 0x\(padded), payload type \(payloadType), "
      + packets.counted("packet")
  }
}

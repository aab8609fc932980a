internal import NIOCore
internal import RTPWire

/// Where packets of one stream come by; with them comes the RTCP that belongs to them.
enum FlowPlace: Sendable, Hashable {
  /// A port that is sent to, as a receiver listens to one, wherever the packets come from.
  case port(IPEndpoint)
  case channel(source: IPEndpoint, destination: IPEndpoint, UInt8)
  case file

  /// Where the packets of a carrier come by; RTCP has a place of its own.
  init(_ carrier: CarriedPacket.Carrier) {
    switch carrier {
    case .udp(_, let destination): self = .port(destination)
    case .interleaved(let source, let destination, let channel):
      self = .channel(source: source, destination: destination, channel)
    case .file: self = .file
    }
  }

  /// Where RTCP comes by that is not multiplexed (RFC 3550 §11).
  var next: FlowPlace? {
    switch self {
    case .port(let own): .port(own.nextPort())
    case .channel(let source, let destination, let channel):
      .channel(source: source, destination: destination, channel &+ 1)
    case .file: nil
    }
  }
}

/// What a survey found out about one source of RTP.
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
  /// Packets whose number is at most ``nearness`` from that of the one before.
  private var inSequence: UInt64 = 0
  private var last: (number: SequenceNumber, timestamp: UInt32)?
  private(set) var reception: FlowReception
  /// Packets whose payloads begin differently, by which the codec may be told; empty unless wanted.
  private(set) var samples: [ByteBuffer] = []
  private var beginnings: Set<UInt16> = []

  static let maximumSamples = 32

  /// Places between neighbours, loss and disorder included.
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
    reception.observe(packet, at: time)
    count(packet)
  }

  /// Keeps the packet as a sample where its payload begins unlike those that are kept.
  mutating func sample(_ packet: RTPPacket) {
    guard samples.count < Self.maximumSamples else { return }
    let payload = packet.payload
    guard let beginning = payload.getInteger(at: payload.readerIndex, as: UInt16.self),
      beginnings.insert(beginning).inserted
    else { return }
    samples.append(ByteBuffer(buffer: packet.bytes))
  }

  private mutating func count(_ packet: RTPPacket) {
    packets += 1
    bytes += UInt64(packet.bytes.readableBytes)
    if packet.marker { markers += 1 }
    if last?.timestamp != packet.timestamp { timestamps += 1 }
    if let last {
      let step = last.number.distance(to: packet.sequenceNumber)
      if step != 0, step.magnitude <= Self.nearness { inSequence += 1 }
    }
    last = (packet.sequenceNumber, packet.timestamp)
  }

  /// Whether these are packets of RTP and not others that happen to look like one or two.
  var isConfirmed: Bool { inSequence >= 2 && inSequence * 2 >= packets }

  /// Whether its timestamps and markers are those of pictures: several packets to a timestamp, or a
  /// marker with each (RFC 3551 has audio set it at the beginning of talk alone).
  var looksLikeVideo: Bool { hasShapeOfVideo && assignment?.kind != .audio }

  /// What its payload type says of it where the packets do not contradict; `nil` for a type that
  /// means what a session says, and for pictures, whose packets tell more.
  var assignedSound: MediaDescription? {
    assignment.flatMap { $0.kind == .audio && !hasShapeOfVideo ? $0 : nil }
  }

  /// What RFC 3551 assigns its payload type to.
  var assignment: MediaDescription? {
    StaticPayloadType(payloadType).map { _ in MediaDescription(onlyPayloadType: payloadType) }
  }

  private var hasShapeOfVideo: Bool {
    guard isConfirmed, packets >= 4 else { return false }
    return packets >= timestamps * 5 / 4 + 1 || markers * 2 >= packets
  }
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
    return "\(way): --ssrc 0x\(padded), payload type \(payloadType), \(packets) packets"
  }
}

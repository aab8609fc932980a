internal import NIOCore
internal import RTPWire

/// Searches a recording for its flows.
struct FlowSurvey: Sendable {
  /// The most sources distinguished; more would be noise that looks like RTP.
  static let maximumFlows = 512
  /// Packets of unknown flows between two searches of a full table for noise.
  private static let patience = 4096
  private var passedOver = 0
  /// The most packets examined for what they are instead of RTP.
  private static let maximumExamined: UInt64 = 4096
  private var examined: UInt64 = 0
  /// How many of them carry media without RTP, by its name.
  private var foreignMedia: [String: UInt64] = [:]

  private(set) var flows: [Flow] = []
  private var indices: [Key: Int] = [:]
  /// Whether flows keep sample packets, for a list.
  private let keepsSamples: Bool

  init(keepsSamples: Bool = false) { self.keepsSamples = keepsSamples }

  private struct Key: Hashable {
    var place: FlowPlace
    var ssrc: UInt32
  }

  /// What the user asks for; `nil` values are left open.
  struct Wish: Sendable, Hashable {
    var ssrc: UInt32?
    /// The RTP port, of the destination or of the source.
    var port: UInt16?
    var payloadType: UInt8?
    /// Payload types that are included with the chosen flow, but do not choose one.
    var auxiliaryTypes: Set<UInt8> = []
    /// Whether SMPTE ST 2022-1 correction packets are included.
    var takesCorrection = false
    /// The destination port of retransmissions in a separate session.
    var retransmissionPort: UInt16?

    var isOpen: Bool { ssrc == nil && port == nil && payloadType == nil }

    func admits(_ flow: Flow) -> Bool {
      (ssrc.map { $0 == flow.ssrc } ?? true)
        && (payloadType.map { $0 == flow.payloadType } ?? true)
        && (port.map { flow.ports.contains($0) } ?? true)
        && (retransmissionPort.map { $0 != flow.destinationPort } ?? true)
    }
  }

  /// Examines a packet; ignores what is not RTP.
  mutating func observe(_ packet: CarriedPacket) {
    guard packet.carrier != .file(.control), !RTCPPacket.recognizes(packet.bytes) else { return }
    guard let rtp = try? RTPPacket(parsing: packet.bytes) else { return examine(packet.bytes) }
    let place = FlowPlace(packet.carrier)
    let key = Key(place: place, ssrc: rtp.ssrc)
    if let index = indices[key] {
      if keepsSamples { flows[index].sample(rtp) }
      return flows[index].observe(rtp, at: packet.time)
    }
    if flows.count >= Self.maximumFlows, passedOver == 0 { forgetNoise() }
    guard flows.count < Self.maximumFlows else {
      // Searching for noise with every packet would cost more than everything else.
      passedOver = (passedOver + 1) % Self.patience
      return
    }
    indices[key] = flows.count
    flows.append(Flow(rtp, at: place, from: packet.carrier.source, time: packet.time))
  }

  /// Notes a packet that was recorded only in part: it came, so it is not lost.
  ///
  /// Only one of a flow that is known: of others, too little may be there to tell what it is.
  mutating func noteCut(_ packet: CarriedPacket) {
    guard !RTCPPacket.recognizes(packet.bytes), let rtp = try? RTPPacket(parsing: packet.bytes),
      let index = indices[Key(place: FlowPlace(packet.carrier), ssrc: rtp.ssrc)]
    else { return }
    flows[index].noteCut(rtp, at: packet.time)
  }

  /// The confirmed RTP flows, the largest first, at most `count`.
  func confirmed(atMost count: Int) -> [Flow] {
    Array(flows.filter(\.isConfirmed).sorted { $0.packets > $1.packets }.prefix(count))
  }

  /// Whether some flow may fit `wish`.
  func hasCandidate(for wish: Wish) -> Bool {
    flows.contains { $0.isConfirmed && wish.admits($0) }
  }

  func hasVideo(for wish: Wish) -> Bool {
    flows.contains { $0.looksLikeVideo && wish.admits($0) }
  }

  /// What most of the packets carry instead of RTP, such as `MPEG-TS video`; `nil` if unknown.
  var mediaWithoutRTP: String? {
    foreignMedia.first { $0.value * 2 > examined }?.key
  }

  private mutating func examine(_ bytes: ByteBuffer) {
    guard examined < Self.maximumExamined else { return }
    examined += 1
    guard case .media(let name)? = ForeignDatagram(bytes) else { return }
    foreignMedia[name, default: 0] += 1
  }

  private mutating func forgetNoise() {
    flows.removeAll { !$0.isConfirmed }
    indices = Dictionary(
      uniqueKeysWithValues: flows.enumerated().map {
        (Key(place: $1.place, ssrc: $1.ssrc), $0)
      })
  }
}

extension Flow {
  var destinationPort: UInt16? {
    if case .port(let destination) = place { destination.port } else { nil }
  }

  fileprivate var ports: [UInt16] {
    switch place {
    case .port(let destination): [destination.port] + (source.map { [$0.port] } ?? [])
    case .channel(let source, let destination, _): [source.port, destination.port]
    case .file: source.map { [$0.port] } ?? []
    }
  }
}

extension CarriedPacket.Carrier {
  var source: IPEndpoint? {
    switch self {
    case .udp(let source, _), .interleaved(let source, _, _): source
    case .file: nil
    }
  }
}

extension FlowSurvey {
  /// The most flows listed when the wanted one does not exist.
  static let maximumListed = 10

  /// The most packets of a file that was cut short that do not show what it was.
  private static let tooFewPackets: UInt64 = 32

  /// Why nothing fits `wish`; `isCut` if the file ends in the middle of a packet.
  func missing(
    for wish: Wish, in statistics: DissectionStatistics, isCut: Bool
  ) -> ReplayError {
    guard statistics.packets > 0 else { return .noPackets }
    guard !wish.isOpen else {
      if let mediaWithoutRTP {
        return .mediaWithoutRTP(mediaWithoutRTP, contents: statistics.summary)
      }
      return isCut && statistics.packets <= Self.tooFewPackets
        ? .cutShort(contents: statistics.summary) : .noRTP(contents: statistics.summary)
    }
    let all = confirmed(atMost: .max)
    let listed = all.prefix(Self.maximumListed).map { "\($0)" }
    return .noSuchFlow(asked: "\(wish)", flows: listed, more: all.count - listed.count)
  }
}

extension FlowSurvey.Wish: CustomStringConvertible {
  var description: String {
    [
      ssrc.map { "SSRC 0x" + String($0, radix: 16) }, port.map { "port \($0)" },
      payloadType.map { "payload type \($0)" },
    ].compactMap(\.self).joined(separator: ", ")
  }
}

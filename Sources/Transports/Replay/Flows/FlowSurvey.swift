internal import NIOCore
internal import RTPWire

/// Looks through the beginning of a recording for the flows in it, and chooses the one to play.
struct FlowSurvey: Sendable {
  /// Sources that are told apart; more are noise that looks like RTP.
  static let maximumFlows = 512
  /// Packets of unknown flows, after which a full table is looked through for noise again.
  private static let patience = 4096
  private var passedOver = 0

  private(set) var flows: [Flow] = []
  private var indices: [Key: Int] = [:]

  private struct Key: Hashable {
    var place: FlowPlace
    var ssrc: UInt32
  }

  /// What the user asks for; what is `nil` is left open.
  struct Wish: Sendable, Hashable {
    var ssrc: UInt32?
    /// The destination's or the source's, of RTP.
    var port: UInt16?
    var payloadType: UInt8?
    /// What is taken along with the flow that is chosen, and chooses none.
    var auxiliaryTypes: Set<UInt8> = []
    /// Whether correction packets of SMPTE ST 2022-1 are taken along.
    var takesCorrection = false
    /// The destination's port of packets that are sent again in a session of their own.
    var retransmissionPort: UInt16?

    var isOpen: Bool { ssrc == nil && port == nil && payloadType == nil }

    fileprivate func admits(_ flow: Flow) -> Bool {
      (ssrc.map { $0 == flow.ssrc } ?? true)
        && (payloadType.map { $0 == flow.payloadType } ?? true)
        && (port.map { flow.ports.contains($0) } ?? true)
        && (retransmissionPort.map { $0 != flow.destinationPort } ?? true)
    }
  }

  /// Takes a packet in; what is no RTP is passed over.
  mutating func observe(_ packet: CarriedPacket) {
    guard packet.carrier != .file(.control), !RTCPPacket.recognizes(packet.bytes),
      let rtp = try? RTPPacket(parsing: packet.bytes)
    else { return }
    let place = FlowPlace(packet.carrier)
    let key = Key(place: place, ssrc: rtp.ssrc)
    if let index = indices[key] { return flows[index].observe(rtp) }
    if flows.count >= Self.maximumFlows, passedOver == 0 { forgetNoise() }
    guard flows.count < Self.maximumFlows else {
      // To look for noise again with every packet would cost more than all the rest.
      passedOver = (passedOver + 1) % Self.patience
      return
    }
    indices[key] = flows.count
    flows.append(Flow(rtp, at: place, from: packet.carrier.source))
  }

  /// The flows that are RTP beyond doubt, the largest first, at most `count`.
  func confirmed(atMost count: Int) -> [Flow] {
    Array(flows.filter(\.isConfirmed).sorted { $0.packets > $1.packets }.prefix(count))
  }

  /// Whether there is anything to choose from that fits `wish`.
  func hasCandidate(for wish: Wish) -> Bool {
    flows.contains { $0.isConfirmed && wish.admits($0) }
  }

  func hasVideo(for wish: Wish) -> Bool {
    flows.contains { $0.looksLikeVideo && wish.admits($0) }
  }

  /// The flow to play: what is described as video comes first, then what looks like it, then what
  /// has most bytes.
  func choice(for wish: Wish, describedBy descriptions: [SessionDescription]) -> FlowChoice? {
    let candidates = flows.filter { $0.isConfirmed && wish.admits($0) }
    func rank(_ flow: Flow) -> (Int, Int, UInt64) {
      let media = descriptions.section(of: flow)?.media
      let described = media.map { $0.kind == "video" && !$0.isRetransmission ? 2 : 0 } ?? 1
      return (described, flow.looksLikeVideo ? 1 : 0, flow.bytes)
    }
    guard let best = candidates.max(by: { rank($0) < rank($1) }) else { return nil }
    // Other media in the same place, as WebRTC bundles them, is told by its payload type.
    let isShared = flows.contains {
      $0.place == best.place && $0.isConfirmed && $0.payloadType != best.payloadType
    }
    let section = descriptions.section(of: best)
    // A section may offer several types; its description is that of one of them.
    let description =
      section?.media.description.payloadType == best.payloadType ? section?.media.description : nil
    return FlowChoice(
      flow: best, ssrc: wish.ssrc, payloadType: isShared ? best.payloadType : nil,
      auxiliaryTypes: wish.auxiliaryTypes.union(description?.auxiliaryTypes ?? []),
      description: description,
      hasNeighbour: flows.contains { $0.isConfirmed && $0.place == best.place.next },
      takesCorrection: wish.takesCorrection,
      retransmissionPort: wish.retransmissionPort ?? section?.retransmissionPort)
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
  fileprivate var destinationPort: UInt16? {
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

extension [SessionDescription] {
  /// The section of any of them that has a payload type, video before other kinds, and where its packets
  /// are sent again if that is said.
  fileprivate func section(
    of flow: Flow
  ) -> (media: SessionDescription.Media, retransmissionPort: UInt16?)? {
    let fitting = flatMap { session in
      session.media.filter { $0.payloadTypes.contains(flow.payloadType) }.map { (session, $0) }
    }
    // In a session of its own what repeats the media may have their payload type.
    let exact = fitting.first { $1.port == flow.destinationPort.map(Int.init) }
    guard
      let (session, media) = exact ?? fitting.first(where: { $1.kind == "video" })
        ?? fitting.first
    else { return nil }
    let port = media.retransmission.map { session.media[$0].port } ?? 0
    return (media, port > 0 ? UInt16(clamping: port) : nil)
  }
}

internal import RTPWire

/// What is played from a recording: all media of one sender, beginning with the wanted one.
struct FlowChoice: Sendable {
  /// The most media of a sender; cameras have up to three.
  static let maximumTracks = 16

  /// Not empty.
  private(set) var tracks: [FlowTrack]
  /// The flow that was wanted.
  var flow: Flow { tracks[0].flow }

  /// Chooses by `wish`: first described video, then what looks like video, best with its clock,
  /// then the flow with the most packets, and of equal ones the first; and with it all media of its
  /// sender, unless a single one is wanted.
  ///
  /// `nil` if nothing fits.
  init?(from survey: FlowSurvey, for wish: FlowSurvey.Wish, in dissection: Dissection) {
    let confirmed = survey.flows.filter(\.isConfirmed)
    func rank(_ flow: Flow) -> (Int, Int, Int, UInt64) {
      let media = dissection.section(of: flow)?.media
      let described = media.map { $0.kind == .video && !$0.isRetransmission ? 2 : 0 } ?? 1
      // Sound with a marker on each packet looks like video, too.
      let clock =
        flow.reception.clockRate.map { $0 == MediaDescription.videoClockRate ? 2 : 0 } ?? 1
      return (described, flow.looksLikeVideo ? 1 : 0, clock, flow.packets)
    }
    guard let best = confirmed.filter(wish.admits).max(by: { rank($0) < rank($1) }) else {
      return nil
    }
    let section = dissection.section(of: best)
    // Its description applies to one of its types: others may carry repairs.
    var said =
      section?.media.description.payloadType == best.payloadType ? section?.media.description : nil
    // Who asks for a type wants no other.
    if wish.payloadType != nil { said?.otherFormats = [] }
    var first = FlowTrack(best, description: said ?? best.assignedSound)
    first.ssrc = wish.ssrc
    // Payload types separate other media in the same place, as WebRTC bundles them. Where none of
    // them is described, all of it is one stream, as it was for its receiver.
    let neighbours = confirmed.filter { $0.place == best.place }
    let isUndescribed =
      wish.isOpen && first.description == nil
      && neighbours.allSatisfy { dissection.section(of: $0) == nil }
    if !isUndescribed, neighbours.contains(where: { $0.payloadType != best.payloadType }) {
      first.payloadType = best.payloadType
    }
    first.otherTypes = Set(said?.otherTypes ?? [])
    first.auxiliaryTypes = wish.auxiliaryTypes.union(said?.auxiliaryTypes ?? [])
    first.takesCorrection = wish.takesCorrection
    first.retransmissionPort = wish.retransmissionPort ?? section?.retransmissionPort
    tracks = [first]
    if wish.isOpen { addOthers(among: confirmed, in: dissection) }
    for index in tracks.indices {
      // One place for both (RFC 5761) was offered; the other end may not have agreed.
      if let place = dissection.controlPlace(of: tracks[index].flow),
        place != tracks[index].flow.place
      {
        tracks[index].controlPlace = place
      }
      let place = tracks[index].controlPlace
      tracks[index].hasNeighbour = confirmed.contains { $0.place == place }
    }
  }

  /// The track and channel of `packet`; `nil` if it belongs to none.
  func place(of packet: CarriedPacket) -> (track: Int, channel: Datagram.Channel)? {
    // By index: removing a track from the array would cost more than asking it.
    for number in tracks.indices {
      guard let channel = tracks[number].channel(of: packet) else { continue }
      // Media in one place also share the place of their RTCP.
      guard tracks.count > 1, RTCPPacket.recognizes(packet.bytes) else { return (number, channel) }
      let other = tracks.firstIndex {
        $0.isSource(of: packet.bytes) && $0.channel(of: packet) != nil
      }
      return (other ?? number, channel)
    }
    return nil
  }

  /// What is known of the media, one entry per track; empty if nothing is known.
  var descriptions: [MediaDescription] {
    let isSilent = tracks.count == 1 && tracks[0].description == nil
    return isSilent
      ? [] : tracks.enumerated().map { $1.description ?? $1.flow.description(isFirst: $0 == 0) }
  }

  private mutating func addOthers(
    among flows: [Flow], in dissection: Dissection
  ) {
    let first = tracks[0]
    for flow in flows {
      guard tracks.count < Self.maximumTracks, flow.hasSender(of: first.flow),
        !first.isCorrectionOrRepetition(flow),
        // Another source of the same kind in the same place has taken over.
        !tracks.contains(where: {
          $0.flow.place == flow.place && $0.admits(flow.payloadType)
        })
      else { continue }
      let section = dissection.section(of: flow)
      guard section?.media.isRetransmission != true else { continue }
      var said = section?.media.description
      // Two media may share a payload type, and no port may show whose section it is.
      if said?.payloadType != flow.payloadType || tracks.contains(where: { $0.description == said })
      {
        said = nil
      }
      var track = FlowTrack(flow, description: said ?? flow.assignment)
      track.payloadType = flow.payloadType
      track.otherTypes = Set(said?.otherTypes ?? [])
      track.auxiliaryTypes = Set(said?.auxiliaryTypes ?? [])
      tracks.append(track)
    }
  }
}

extension FlowChoice {
  /// Other videos of a recording than the one that is played.
  ///
  /// Another source in the same place has taken over, or repeats or corrects the media; AAC looks
  /// like video by its markers (RFC 3640 §3.1), but may be described.
  func otherVideos(in survey: FlowSurvey) -> [Flow] {
    survey.flows.filter { other in
      other.looksLikeVideo && other.place != flow.place
        && !tracks[0].isCorrectionOrRepetition(other)
        && !tracks.contains {
          $0.flow.place == other.place && $0.description.map { $0.kind != .video } ?? false
        }
    }
  }
}

extension Dissection {
  /// The section that describes `flow`, and the place of its retransmissions if known.
  func section(
    of flow: Flow
  ) -> (media: SessionDescription.Media, retransmissionPort: UInt16?)? {
    descriptions(of: flow).section(of: flow)
  }

  /// Where the RTCP of `flow` is, as its description (RFC 3605) or the answer to its SETUP says.
  fileprivate func controlPlace(of flow: Flow) -> FlowPlace? {
    switch flow.place {
    case .port(let own):
      // What is described for another port was changed on the way, or is a placeholder (RFC 8829).
      let described = section(of: flow)?.media
      let said = described?.port == Int(own.port) ? described?.controlPort : nil
      let port = said.flatMap { UInt16(exactly: $0) } ?? controlPort(agreedFor: flow, to: own.port)
      return port.map { .port(IPEndpoint(address: own.address, port: $0)) }
    case .channel(let source, let destination, let channel):
      return controlChannels(between: source, and: destination)[channel].map {
        .channel(source: source, destination: destination, $0)
      }
    case .file: return nil
    }
  }
}

extension FlowTrack {
  /// Whether `other` corrects or repeats this one, and thus belongs to it.
  fileprivate func isCorrectionOrRepetition(_ other: Flow) -> Bool {
    if flow.place == other.place { return auxiliaryTypes.contains(other.payloadType) }
    guard case .port(let own) = flow.place, let port = other.destinationPort else { return false }
    return port == retransmissionPort
      || takesCorrection && [own.port &+ 2, own.port &+ 4].contains(port)
  }
}

extension Flow {
  /// Whether the sender of `other` sends this one to the same receiver.
  fileprivate func hasSender(of other: Flow) -> Bool {
    switch (place, other.place) {
    case (.port(let own), .port(let others)):
      own.address == others.address && source?.address == other.source?.address
    case (
      .channel(let source, let destination, _), .channel(let otherSource, let otherDestination, _)
    ):
      source == otherSource && destination == otherDestination
    case (.file, .file): true
    default: false
    }
  }

  /// Its description if there is no other: the wanted flow is taken for video.
  fileprivate func description(isFirst: Bool) -> MediaDescription {
    isFirst ? MediaDescription() : MediaDescription(kind: .application, payloadType: payloadType)
  }
}

extension [SessionDescription] {
  /// The section with a payload type, video first, and the place of its retransmissions if known.
  fileprivate func section(
    of flow: Flow
  ) -> (media: SessionDescription.Media, retransmissionPort: UInt16?)? {
    let fitting = flatMap { session in
      session.media.filter { $0.payloadTypes.contains(flow.payloadType) }.map { (session, $0) }
    }
    // In a separate session, retransmissions may have the media's payload type.
    let exact = fitting.first { $1.port == flow.destinationPort.map(Int.init) }
    guard
      let (session, section) = exact ?? fitting.first(where: { $1.kind == .video })
        ?? fitting.first
    else { return nil }
    let port = section.retransmission.map { session.media[$0].port } ?? 0
    var media = section
    media.use(flow.payloadType)
    return (media, port > 0 ? UInt16(clamping: port) : nil)
  }
}

internal import RTPWire

/// What is played of a recording: all media of one sender, the one that was looked for first.
struct FlowChoice: Sendable {
  /// Media of a sender that are told apart; a camera has three.
  static let maximumTracks = 16

  /// Not empty.
  private(set) var tracks: [FlowTrack]
  /// The flow that was looked for.
  var flow: Flow { tracks[0].flow }

  /// Chooses what fits `wish`: what is described as video comes first, then what looks like it,
  /// then what has most bytes; with it all media of its sender, unless one is asked for.
  ///
  /// `nil` where nothing fits.
  init?(from survey: FlowSurvey, for wish: FlowSurvey.Wish, in dissection: Dissection) {
    let descriptions = dissection.descriptions
    let confirmed = survey.flows.filter(\.isConfirmed)
    func rank(_ flow: Flow) -> (Int, Int, UInt64) {
      let media = descriptions.section(of: flow)?.media
      let described = media.map { $0.kind == "video" && !$0.isRetransmission ? 2 : 0 } ?? 1
      return (described, flow.looksLikeVideo ? 1 : 0, flow.bytes)
    }
    guard let best = confirmed.filter(wish.admits).max(by: { rank($0) < rank($1) }) else {
      return nil
    }
    let section = descriptions.section(of: best)
    // A section may offer several types; its description is that of one of them.
    let said =
      section?.media.description.payloadType == best.payloadType ? section?.media.description : nil
    var first = FlowTrack(best, description: said ?? best.assignedSound)
    first.ssrc = wish.ssrc
    // Other media in the same place, as WebRTC bundles them, is told by its payload type.
    if confirmed.contains(where: {
      $0.place == best.place && $0.payloadType != best.payloadType
    }) {
      first.payloadType = best.payloadType
    }
    first.auxiliaryTypes = wish.auxiliaryTypes.union(said?.auxiliaryTypes ?? [])
    first.hasNeighbour = confirmed.contains { $0.place == best.place.next }
    first.takesCorrection = wish.takesCorrection
    first.retransmissionPort = wish.retransmissionPort ?? section?.retransmissionPort
    tracks = [first]
    if wish.isOpen { addOthers(among: confirmed, describedBy: descriptions) }
    for index in tracks.indices {
      guard case .channel(let source, let destination, let channel) = tracks[index].flow.place
      else {
        continue
      }
      let channels = dissection.controlChannels(between: source, and: destination)
      tracks[index].controlChannel = channels[channel] ?? tracks[index].controlChannel
    }
  }

  /// Which track `packet` belongs to, and what it comes on there; `nil` when it belongs to none.
  func place(of packet: CarriedPacket) -> (track: Int, channel: Datagram.Channel)? {
    // By index: taking a track out of the array would cost more than asking it.
    for number in tracks.indices {
      guard let channel = tracks[number].channel(of: packet) else { continue }
      // Media in one place have their RTCP in one place too.
      guard tracks.count > 1, RTCPPacket.recognizes(packet.bytes) else { return (number, channel) }
      let other = tracks.firstIndex {
        $0.isSource(of: packet.bytes) && $0.channel(of: packet) != nil
      }
      return (other ?? number, channel)
    }
    return nil
  }

  /// What is known of the media, that of each track in its place; empty where there is nothing to
  /// say.
  var descriptions: [MediaDescription] {
    let isSilent = tracks.count == 1 && tracks[0].description == nil
    return isSilent
      ? [] : tracks.enumerated().map { $1.description ?? $1.flow.description(isFirst: $0 == 0) }
  }

  private mutating func addOthers(
    among flows: [Flow], describedBy descriptions: [SessionDescription]
  ) {
    let first = tracks[0]
    for flow in flows {
      guard tracks.count < Self.maximumTracks, flow.hasSender(of: first.flow),
        !first.isCorrectionOrRepetition(flow),
        // Another source of the same kind in the same place is one that took over.
        !tracks.contains(where: {
          $0.flow.place == flow.place && $0.flow.payloadType == flow.payloadType
        })
      else { continue }
      let section = descriptions.section(of: flow)
      guard section?.media.isRetransmission != true else { continue }
      var said = section?.media.description
      // Two media may have one payload type, and no port tell which section is whose.
      if said?.payloadType != flow.payloadType || tracks.contains(where: { $0.description == said })
      {
        said = nil
      }
      var track = FlowTrack(flow, description: said ?? flow.assignment)
      track.payloadType = flow.payloadType
      track.auxiliaryTypes = Set(said?.auxiliaryTypes ?? [])
      track.hasNeighbour = flows.contains { $0.place == flow.place.next }
      tracks.append(track)
    }
  }
}

extension FlowTrack {
  /// Whether `other` corrects or repeats this one, and so belongs to it.
  fileprivate func isCorrectionOrRepetition(_ other: Flow) -> Bool {
    if flow.place == other.place { return auxiliaryTypes.contains(other.payloadType) }
    guard case .port(let own) = flow.place, let port = other.destinationPort else { return false }
    return port == retransmissionPort
      || takesCorrection && [own.port &+ 2, own.port &+ 4].contains(port)
  }
}

extension Flow {
  /// Whether who sends `other` sends this to the same receiver.
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

  /// What can be said of it that nobody describes: the one that was looked for is taken for video.
  fileprivate func description(isFirst: Bool) -> MediaDescription {
    isFirst ? MediaDescription() : MediaDescription(kind: .application, payloadType: payloadType)
  }
}

extension [SessionDescription] {
  /// The section of any of them that has a payload type, video before other kinds, and where its
  /// packets are sent again if that is said.
  func section(
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

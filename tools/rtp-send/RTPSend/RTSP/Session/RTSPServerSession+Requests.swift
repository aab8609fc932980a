import Impairment
import NIOCore
import RTPWire

/// What each method does (RFC 2326 §10).
extension RTSPServerSession {
  /// VLC sends signs of life only if GET_PARAMETER is listed; GStreamer prefers SET_PARAMETER.
  static let methods = [
    "OPTIONS", "DESCRIBE", "SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER",
  ]

  mutating func handle(_ request: RTSPRequest, at now: Instant) {
    if request.isOfHTTP { return tunnel(request) }
    var request = request
    if !configuration.quirks.isEmpty {
      var text = RTSPText(request)
      answers.restore(&text)
      switch answers.refusal(of: text) {
      case .answer(let answer): return act(.send(answer.bytes))
      case .close: return close()
      case nil: break
      }
      request.rename(session: text["Session"])
    }
    guard request.version.hasPrefix("RTSP/1.") else {
      return respond(to: request, .versionNotSupported)
    }
    let features = request.values("require") + request.values("proxy-require")
    guard features.isEmpty else {
      return respond(
        to: request, .optionNotSupported, [("Unsupported", features.joined(separator: ", "))])
    }
    if !configuration.isSecure, request.target.lowercased().hasPrefix("rtsps://") {
      let location = "rtsp" + request.target.dropFirst("rtsps".count)
      return respond(to: request, .movedPermanently, [("Location", location)])
    }
    switch request.method {
    case "OPTIONS": options(request, at: now)
    case "DESCRIBE": describe(request, at: now)
    case "SETUP": setUp(request, at: now)
    case "PLAY": play(request, at: now)
    case "PAUSE": pause(request, at: now)
    case "TEARDOWN": tearDown(request, at: now)
    case "GET_PARAMETER", "SET_PARAMETER": parameter(request, at: now)
    default:
      respond(to: request, .notImplemented, [("Public", Self.methods.joined(separator: ", "))])
    }
  }

  /// The description of the stream that was asked for, or `nil` if there is none.
  mutating func described(_ description: String?, at now: Instant) {
    guard case .describe(let request, _, _) = pending else { return }
    pending = nil
    guard let description else { return respond(to: request, .unavailable) }
    respond(
      to: request, .ok,
      [("Content-Base", base(of: request.target)), ("Content-Type", "application/sdp")],
      body: description)
  }

  /// Whether the description of a stream is still to be given.
  func isDescribing(_ stream: Int) -> Bool {
    if case .describe(_, stream, _) = pending { true } else { false }
  }

  /// Whether the track can go the way that was proposed.
  mutating func setUp(_ outcome: SetUpOutcome, at now: Instant) {
    guard case .setUp(let request, var setUp) = pending, !setUp.choices.isEmpty else { return }
    pending = nil
    let choice = setUp.choices.removeFirst()
    switch outcome {
    case .full: respond(to: request, .unavailable)
    case .taken:
      guard let next = setUp.choices.first else {
        return respond(to: request, .unsupportedTransport)
      }
      pending = .setUp(request, setUp)
      act(
        .setUp(
          setUp.session.id, stream: setUp.session.stream, track: setUp.track, next.carrier))
    case .ready(let ssrc):
      let track = SetUpTrack(url: request.target, carrier: choice.carrier)
      setUp.session.tracks[setUp.track] = track
      setUp.session.heard = now
      if let index = index(of: setUp.session.id) {
        sessions[index] = setUp.session
      } else {
        sessions.append(setUp.session)
      }
      respond(
        to: request, .ok,
        [
          ("Transport", transport(choice.profile, choice.carrier, ssrc)),
          // FFmpeg reads ";timeout=" without a space.
          ("Session", "\(setUp.session.id);timeout=\(Self.announcedTimeout)"),
        ])
    }
  }

  /// Where the passage begins that was asked for, or `nil` if it cannot be played.
  mutating func played(_ beginning: PassageBeginning?, at now: Instant) {
    guard case .play(let request, let id) = pending else { return }
    pending = nil
    guard let index = index(of: id) else { return respond(to: request, .sessionNotFound) }
    guard let beginning else { return respond(to: request, .internalError) }
    sessions[index].isPlaying = true
    sessions[index].heard = now
    var headers = [("Session", id)]
    if let start = beginning.start {
      let end = beginning.end.map { PlayRange.text($0) } ?? ""
      headers.append(("Range", "npt=\(PlayRange.text(start))-\(end)"))
    } else {
      headers.append(("Range", "npt=now-"))
    }
    if request["scale"] != nil { headers.append(("Scale", "\(beginning.scale)")) }
    if request["speed"] != nil { headers.append(("Speed", "\(beginning.speed)")) }
    if let information = information(sessions[index], beginning) {
      headers.append(("RTP-Info", information))
    }
    let startsEarly = configuration.quirks.contains(.mediaBeforePlay)
    if startsEarly { act(.start(id)) }
    respond(to: request, .ok, headers)
    if !startsEarly { act(.start(id)) }
  }

  // MARK: Requests

  private mutating func options(_ request: RTSPRequest, at now: Instant) {
    if let id = request.session { noteLife(of: id, at: now) }
    respond(to: request, .ok, [("Public", Self.methods.joined(separator: ", "))])
  }

  private mutating func describe(_ request: RTSPRequest, at now: Instant) {
    guard isAdmitted(request, at: now) else { return }
    guard let stream = stream(RTSPTarget(request.target)) else {
      return respond(to: request, .notFound)
    }
    let types = request.values("accept").joined(separator: ",").lowercased()
    guard types.isEmpty || types.contains("application/sdp") || types.contains("*") else {
      return respond(to: request, .notAcceptable)
    }
    pending = .describe(
      request, stream: stream, until: now.advanced(byNanoseconds: Self.descriptionNanoseconds))
    act(.describe(stream: stream))
  }

  private mutating func setUp(_ request: RTSPRequest, at now: Instant) {
    guard isAdmitted(request, at: now) else { return }
    let target = RTSPTarget(request.target)
    guard let stream = stream(target) else { return respond(to: request, .notFound) }
    let count = configuration.streams[stream].trackCount
    guard let number = target.track ?? (count == 1 ? 1 : nil) else {
      return respond(to: request, .aggregateNotAllowed)
    }
    guard (1...count).contains(number) else { return respond(to: request, .notFound) }
    var session: Session
    if let id = request.session {
      guard let index = index(of: id) else { return respond(to: request, .sessionNotFound) }
      guard sessions[index].stream == stream, !sessions[index].isPlaying else {
        return respond(to: request, .notValidInThisState)
      }
      session = sessions[index]
    } else {
      // FFmpeg begins another session in the same connection when no datagrams came.
      guard sessions.count < Self.mostSessions else { return respond(to: request, .unavailable) }
      session = Session(id: drawIdentifier(), stream: stream, heard: now)
    }
    session.heard = now
    let offers: [TransportOffer]
    do throws(TransportOffer.Fault) {
      offers = try TransportOffer.offers(in: request.values("transport"))
    } catch { return respond(to: request, .badRequest) }
    let choices = choices(offers, session, track: number - 1)
    guard let first = choices.first else { return respond(to: request, .unsupportedTransport) }
    pending = .setUp(
      request, SetUp(session: session, track: number - 1, choices: choices))
    act(.setUp(session.id, stream: stream, track: number - 1, first.carrier))
  }

  private mutating func play(_ request: RTSPRequest, at now: Instant) {
    guard let index = sessionIndex(request, at: now) else { return }
    let stream = configuration.streams[sessions[index].stream]
    var passage = Passage()
    for (name, path, limits) in [
      ("scale", \Passage.scale, Passage.scales), ("speed", \Passage.speed, Passage.speeds),
    ] {
      guard let text = request[name] else { continue }
      guard let value = Double(text), value.isFinite, value != 0 else {
        return respond(to: request, .badRequest)
      }
      // Nothing is played backwards, and an answer with the scale in use is no refusal.
      passage[keyPath: path] = value < 0 ? 1 : min(max(value, limits.lowerBound), limits.upperBound)
    }
    if let duration = stream.duration, let text = request["range"] {
      guard let range = PlayRange(text), range.start ?? 0 < max(1, duration),
        range.end ?? .max > range.start ?? 0
      else { return respond(to: request, .invalidRange) }
      passage.start = range.start
      passage.end = range.end.flatMap { $0 < duration ? $0 : nil }
    }
    pending = .play(request, sessions[index].id)
    act(.play(sessions[index].id, passage))
  }

  private mutating func pause(_ request: RTSPRequest, at now: Instant) {
    guard let index = sessionIndex(request, at: now) else { return }
    // FFmpeg goes over to TCP only if this succeeds, and pauses what has never played.
    if sessions[index].isPlaying {
      sessions[index].isPlaying = false
      act(.pause(sessions[index].id))
    }
    respond(to: request, .ok, [("Session", sessions[index].id)])
  }

  private mutating func tearDown(_ request: RTSPRequest, at now: Instant) {
    guard let index = sessionIndex(request, at: now) else { return }
    let id = sessions[index].id
    let target = RTSPTarget(request.target)
    // VLC drops a track that is deselected.
    if let number = target.track, sessions[index].tracks[number - 1] != nil,
      sessions[index].tracks.count > 1
    {
      sessions[index].tracks[number - 1] = nil
      act(.drop(id, track: number - 1))
    } else {
      remove(id, .tornDown)
    }
    respond(to: request, .ok, [("Session", id)])
  }

  private mutating func parameter(_ request: RTSPRequest, at now: Instant) {
    var headers: [(String, String)] = []
    if let id = request.session {
      guard index(of: id) != nil else { return respond(to: request, .sessionNotFound) }
      noteLife(of: id, at: now)
      headers = [("Session", id)]
    }
    guard request.method == "GET_PARAMETER" || request.body.readableBytes == 0 else {
      return respond(to: request, .parameterNotUnderstood, headers)
    }
    respond(to: request, .ok, headers)
  }

  // MARK: Parts of requests

  /// The session that a request is about; answers the request if there is none.
  private mutating func sessionIndex(_ request: RTSPRequest, at now: Instant) -> Int? {
    // Where there is only one, some clients do not name it.
    let found =
      request.session.map { index(of: $0) } ?? (sessions.count == 1 ? sessions.indices.first : nil)
    guard let found else {
      respond(to: request, .sessionNotFound)
      return nil
    }
    sessions[found].heard = now
    return found
  }

  /// Whether the client may do that; otherwise asks it who it is.
  private mutating func isAdmitted(_ request: RTSPRequest, at now: Instant) -> Bool {
    guard var gate else { return true }
    defer { self.gate = gate }
    guard case .refused(let isStale) = gate.judge(request, at: now.nanoseconds) else { return true }
    let challenge = gate.challenge(isStale: isStale, at: now.nanoseconds) { drawNumber() }
    respond(to: request, .unauthorized, challenge.map { ("WWW-Authenticate", $0) })
    if gate.failures >= RTSPGate.mostFailures { close() }
    return false
  }

  private func stream(_ target: RTSPTarget) -> Int? {
    if target.isServer, configuration.streams.count == 1 { return 0 }
    return configuration.streams.firstIndex { $0.name == target.path }
  }

  /// The ways that a track can go, in the order in which they are tried.
  private func choices(
    _ offers: [TransportOffer], _ session: Session, track: Int
  ) -> [(profile: String, carrier: Carrier)] {
    let stream = configuration.streams[session.stream]
    let groups = stream.groups
    var choices: [(profile: String, carrier: Carrier)] = []
    for offer in offers {
      switch offer.way {
      case .interleaved(let pair):
        if let own = channels(shifted(pair), session, track) {
          choices.append((offer.profile, .interleaved(own)))
        }
      case .udp(let rtp, let rtcp):
        if configuration.serverPorts != nil, stream.takesDatagrams {
          choices.append((offer.profile, .udp(rtp: rtp, rtcp: rtcp)))
        }
      case .multicast:
        if groups.indices.contains(track), stream.takesDatagrams {
          choices.append((offer.profile, .multicast(groups[track])))
        }
      }
    }
    // All tracks of a session go the same way: FFmpeg wants it so, and a client that is slow in one
    // way must not be taken for quick in another.
    guard let first = session.tracks.first(where: { $0.key != track })?.value.carrier else {
      return choices
    }
    return choices.filter { $0.carrier.isLike(first) }
  }

  /// Others than those that were asked for, where that is a quirk.
  private func shifted(_ asked: TransportOffer.ChannelPair?) -> TransportOffer.ChannelPair? {
    guard let asked, configuration.quirks.contains(.otherChannels) else { return asked }
    let distance = QuirkyAnswers.channelDistance
    return TransportOffer.ChannelPair(rtp: asked.rtp &+ distance, rtcp: asked.rtcp &+ distance)
  }

  /// The channels that were asked for, or others if these are in use, or none were asked for.
  private func channels(
    _ asked: TransportOffer.ChannelPair?, _ session: Session, _ track: Int
  ) -> TransportOffer.ChannelPair? {
    var used: Set<UInt8> = []
    for other in sessions {
      for (number, setUp) in other.tracks where other.id != session.id || number != track {
        guard case .interleaved(let pair) = setUp.carrier else { continue }
        used.formUnion([pair.rtp, pair.rtcp])
      }
    }
    let pairs = stride(from: UInt8(0), through: 254, by: 2).map {
      TransportOffer.ChannelPair(rtp: $0, rtcp: $0 + 1)
    }
    return ([asked].compactMap { $0 } + pairs).first {
      !used.contains($0.rtp) && !used.contains($0.rtcp)
    }
  }

  /// No parameter twice and no space: GStreamer refuses both.
  ///
  /// live555 takes what does not say unicast for multicast.
  private func transport(_ profile: String, _ carrier: Carrier, _ ssrc: UInt32) -> String {
    let digits = String(ssrc, radix: 16, uppercase: true)
    let source = ";ssrc=" + String(repeating: "0", count: 8 - digits.count) + digits
    switch carrier {
    case .interleaved(let pair):
      return "\(profile);unicast;interleaved=\(pair.rtp)-\(pair.rtcp)\(source)"
    case .udp(let rtp, let rtcp):
      let ports = configuration.serverPorts.map { ";server_port=\($0.rtp)-\($0.rtcp)" } ?? ""
      return "\(profile);unicast;client_port=\(rtp)-\(rtcp)\(ports)\(source)"
    case .multicast(let group):
      return "\(profile);multicast;destination=\(group.address);port=\(group.port)-"
        + "\(group.port + 1);ttl=\(MulticastGroup.timeToLive)\(source)"
    }
  }

  /// The value of `RTP-Info:`; it is left out if a track's first packet is not known, because
  /// GStreamer waits for what does not come.
  private func information(_ session: Session, _ beginning: PassageBeginning) -> String? {
    var parts: [String] = []
    for (track, setUp) in session.tracks.sorted(by: { $0.key < $1.key }) {
      guard let first = beginning.packets[track] else { return nil }
      parts.append("url=\(setUp.url);seq=\(first.sequence);rtptime=\(first.timestamp)")
    }
    return parts.joined(separator: ",")
  }

  /// The request's URL with a slash at its end, which FFmpeg and live555 append the track to.
  private func base(of target: String) -> String {
    guard let scheme = target.firstRange(of: "://") else {
      return RTSPTarget.base(of: configuration.origin + (target == "*" ? "" : target))
    }
    // Some clients leave the login in the URL, which is nobody else's business.
    let authority = target[scheme.upperBound...].prefix { $0 != "/" }
    let host = authority.lastIndex(of: "@").map { authority.index(after: $0) }
    return RTSPTarget.base(
      of: String(target[..<scheme.upperBound] + target[(host ?? authority.startIndex)...]))
  }
}

extension Carrier {
  /// Whether both use the same lower transport.
  fileprivate func isLike(_ other: Carrier) -> Bool {
    switch (self, other) {
    case (.interleaved, .interleaved), (.udp, .udp), (.multicast, .multicast): true
    default: false
    }
  }
}

import Defragment
import RTPWire

/// Assigns datagrams to tracks, by the description and by the packets.
extension Reception {
  /// The most described media that are followed; no sender sets up more.
  static let maximumDescribed = 32
  /// The most other sources on the video's channel that are followed.
  static let maximumFound = 8
  /// After such a pause, another source may take the place of a found one.
  static let longestPause: Duration = .seconds(10)

  /// What a place of the description stands for.
  enum Place: Sendable, Hashable {
    case video
    /// An index into the other tracks.
    case other(Int)
    case untracked
  }

  /// Starts over with a new description of the far end's media.
  mutating func describe(_ media: [MediaDescription]) throws {
    // What the user says takes precedence over the description: GStreamer names a packing of G.726
    // that is not the one it sends.
    let own = configuration.video.media
    let said = configuration.saidSound ?? configuration.stream.sound
    let formats = configuration.stream.formats
    let media = media.map { description in
      guard description.kind == .audio else { return description }
      var sound = description.payloadType == said?.payloadType ? said ?? description : description
      sound.inferClockRate(from: formats)
      return sound
    }
    let sound = media.indices.prefix(Self.maximumDescribed).first {
      media[$0].kind == .audio && formats.knowsSound(media[$0])
    }
    var chosen = place(ofVideoIn: media)
    if sound != nil, !configuration.wantsPictures, let video = chosen,
      let name = own.completed(by: media[video]).encodingName,
      formats.codec(encodingName: name) == nil
    {
      chosen = nil
    }
    if chosen == nil, own.encodingName != nil || sound == nil || !configuration.wantsSound {
      // A medium that the user describes, or that is not called sound, may still be video.
      if own.encodingName != nil || media.contains(where: { $0.kind != .audio }) { return }
      let wantsSoundAlone = configuration.wantsSound && !configuration.wantsPictures
      throw MissingMedium(kind: wantsSoundAlone ? .audio : .video, media: media)
    }
    if configuration.wantsSound, !configuration.wantsPictures,
      !media.contains(where: { $0.kind == .audio || $0.kind == .unknown })
    {
      throw MissingMedium(kind: .audio, media: media)
    }
    var stream = configuration.video
    // Where video is described, what comes on its channel is not taken for sound.
    stream.formats = FormatCatalogue(formats.formats, sound: [])
    if let chosen { stream.media = own.completed(by: media[chosen]) }
    video = try VideoStream(configuration: stream, after: former?.video)
    (others, places, soundTrack, alignment) = ([], [], nil, SoundAlignment())
    for (index, description) in media.enumerated() {
      guard index != chosen else {
        places.append(.video)
        continue
      }
      guard index < Self.maximumDescribed else {
        places.append(.untracked)
        continue
      }
      let earlier = former?.others.first { $0.place == index && $0.media.kind == description.kind }
      places.append(.other(others.count))
      var track = Track(description, at: index, window: stream.reorderWindow, after: earlier)
      if index == sound {
        track.unpack(with: formats, after: earlier)
        soundTrack = others.count
      }
      others.append(track)
    }
  }

  /// The place of the first video whose codec is known or to be recognized, or else of any video.
  private func place(ofVideoIn media: [MediaDescription]) -> Int? {
    let stream = configuration.video
    let videos = media.indices.filter { media[$0].kind == .video }
    func name(_ index: Int) -> String? { stream.media.completed(by: media[index]).encodingName }
    return videos.first { name($0).flatMap(stream.formats.codec(encodingName:)) != nil }
      ?? videos.first { name($0) == nil } ?? videos.first
  }

  /// Gives a datagram to its track.
  mutating func take(_ datagram: Datagram) {
    firstArrival = firstArrival ?? datagram.arrival
    let place = place(of: datagram)
    switch place {
    case .video:
      // Until there is video, what belongs to sound that was found is no concern of it.
      let wasReceiving = video.isReceiving
      if !wasReceiving, passOn(datagram) { return }
      video.receive(datagram)
      if !video.passedOver.isEmpty { follow(video.takePassedOver()) }
      if wasReceiving, datagram.isControl { passOnControl(datagram) }
    case .other(let index):
      others[index].receive(datagram)
    case .untracked:
      break
    }
    if datagram.isControl { passOnReports(in: datagram, besides: place) }
  }

  /// Gives a compound to the other described tracks that it is about as well: mediasoup puts the
  /// reports of all sources into one.
  private mutating func passOnReports(in datagram: Datagram, besides place: Place) {
    guard places.count > 1 else { return }
    let further = RTCPPacket.sources(in: datagram.bytes).dropFirst()
    guard !further.isEmpty else { return }
    if place != .video, let ssrc = video.ssrc, further.contains(ssrc) { video.receive(datagram) }
    for index in others.indices where place != .other(index) && others[index].place != nil {
      guard let ssrc = others[index].ssrc, further.contains(ssrc) else { continue }
      others[index].receive(datagram)
    }
  }

  private func place(of datagram: Datagram) -> Place {
    guard places.count > 1 else { return places.first ?? .video }
    let place = places.indices.contains(datagram.track) ? places[datagram.track] : places[0]
    if datagram.isControl { return placeOfSource(of: datagram, at: place) }
    guard datagram.channel == .media, let type = datagram.payloadType,
      !describes(type, at: place), isDescribed(place)
    else { return place }
    // With several media in one session, the payload type shows which one it is (RFC 9143 §9.2).
    if video.describes(type) { return .video }
    return others.firstIndex { $0.describes(type) }.map { .other($0) } ?? place
  }

  /// The track whose source sent a datagram of RTCP, which came at `place`: some servers put all
  /// tracks on channels 0 and 1, and so do those that bundle (RFC 9143).
  private func placeOfSource(of datagram: Datagram, at place: Place) -> Place {
    guard let ssrc = RTCPPacket.sources(in: datagram.bytes).first else { return place }
    let own: UInt32? =
      switch place {
      case .video: video.ssrc
      case .other(let index): others[index].ssrc
      case .untracked: nil
      }
    // Until its source is known, what comes on a channel is of it: cameras have one SSRC for all.
    guard let own, own != ssrc else { return place }
    if video.ssrc == ssrc { return .video }
    return others.firstIndex { $0.place != nil && $0.ssrc == ssrc }.map { .other($0) } ?? place
  }

  /// Whether it is known which payload types belong to a track: any other is its own.
  private func isDescribed(_ place: Place) -> Bool {
    switch place {
    case .video: video.media.payloadType != nil
    case .other(let index): others[index].media.payloadType != nil
    case .untracked: true
    }
  }

  private func describes(_ payloadType: UInt8, at place: Place) -> Bool {
    switch place {
    case .video: video.describes(payloadType)
    case .other(let index): others[index].describes(payloadType)
    case .untracked: false
    }
  }

  /// Follows other sources among the video's packets.
  private mutating func follow(_ datagrams: [Datagram]) {
    for datagram in datagrams {
      guard let packet = try? datagram.packet(), packet.ssrc != video.ssrc else {
        continue
      }
      if let index = index(ofFound: packet.ssrc) {
        others[index].receive(datagram)
        continue
      }
      let found = others.indices.filter { others[$0].place == nil }
      if found.count >= Self.maximumFound {
        guard let index = leastOf(found, at: datagram.arrival) else { continue }
        others[index] = track(of: packet)
        others[index].receive(datagram)
      } else {
        others.append(track(of: packet))
        others[others.count - 1].receive(datagram)
      }
    }
    leaveSourceOfVideo()
  }

  /// Follows a source no longer that the video has gone on with.
  mutating func leaveSourceOfVideo() {
    guard let index = video.ssrc.flatMap(index(ofFound:)), index != soundTrack else { return }
    others.remove(at: index)
    if let sound = soundTrack, sound > index { soundTrack = sound - 1 }
  }

  /// Which of the tracks that were `found` is the least loss: one whose source has not proved
  /// itself, or one that has been silent for long; never the sound, whose place others would take.
  private func leastOf(_ found: [Int], at now: Instant) -> Int? {
    let found = found.filter { $0 != soundTrack }
    if let index = found.first(where: { others[$0].ssrc == nil }) { return index }
    return found.first { index in
      others[index].lastArrival.map { $0.advanced(by: Self.longestPause) < now } ?? true
    }
  }

  /// Gives a datagram to the track that was found for its source; `false` if there is none.
  private mutating func passOn(_ datagram: Datagram) -> Bool {
    guard !others.isEmpty else { return false }
    if datagram.isControl { return passOnControl(datagram) }
    guard let packet = try? datagram.packet(),
      let index = index(ofFound: packet.ssrc)
    else { return false }
    others[index].receive(datagram)
    return true
  }

  private func track(of packet: RTPPacket) -> Track {
    let said = configuration.stream.sound
    let isSaid =
      said.map { ([$0] + $0.otherFormats).contains { $0.payloadType == packet.payloadType } }
      ?? false
    let media = isSaid ? said : nil
    var track = Track(
      media ?? MediaDescription(onlyPayloadType: packet.payloadType), at: nil,
      window: configuration.stream.reorderWindow)
    track.expectedSource = packet.ssrc
    // Where sound is described, anything else is not it.
    if !hasDescribedSound, said == nil || isSaid {
      track.unpack(with: configuration.stream.formats)
    }
    return track
  }

  private func index(ofFound ssrc: UInt32) -> Int? {
    others.firstIndex { $0.place == nil && ($0.expectedSource == ssrc || $0.ssrc == ssrc) }
  }

  /// Passes the RTCP of sources found beside the video to their tracks too.
  ///
  /// - Returns: whether it is of no other source.
  @discardableResult
  private mutating func passOnControl(_ datagram: Datagram) -> Bool {
    let sources = RTCPPacket.sources(in: datagram.bytes)
    let found = sources.compactMap(index(ofFound:))
    for index in Set(found) { others[index].receive(datagram) }
    return !found.isEmpty && found.count == sources.count
  }
}

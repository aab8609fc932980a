import Defragment
import NIOCore
public import RTPWire

/// Which track a datagram belongs to, by what was described and by what came.
extension Reception {
  /// As many described media are followed; more are set up by nobody.
  static let maximumDescribed = 32
  /// As many sources beside the video on its own channel are followed.
  static let maximumFound = 8

  /// What stands at a place of the description.
  enum Place: Sendable, Hashable {
    case video
    /// An index of the other tracks.
    case other(Int)
    case untracked
  }

  /// Begins anew with what the far end says of its media.
  mutating func describe(_ media: [MediaDescription]) throws {
    // What the user says goes before what the far end says.
    let own = configuration.stream.media
    guard let chosen = place(ofVideoIn: media) else {
      // What the user knows, or what is called something else than sound, may be video all the
      // same.
      if own.encodingName != nil || media.contains(where: { $0.kind != .audio }) { return }
      throw NoVideo(media: media)
    }
    var stream = configuration.stream
    stream.media = own.completed(by: media[chosen])
    video = try VideoStream(configuration: stream, after: former?.video)
    others = []
    places = []
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
      others.append(
        Track(description, at: index, window: stream.reorderWindow, after: earlier))
    }
  }

  /// The first video whose codec is known, or is to be recognized, or else the first at all.
  private func place(ofVideoIn media: [MediaDescription]) -> Int? {
    let stream = configuration.stream
    let videos = media.indices.filter { media[$0].kind == .video }
    func name(_ index: Int) -> String? { stream.media.completed(by: media[index]).encodingName }
    return videos.first { name($0).flatMap(stream.formats.codec(encodingName:)) != nil }
      ?? videos.first { name($0) == nil } ?? videos.first
  }

  /// Gives a datagram to its track.
  mutating func take(_ datagram: Datagram) {
    firstArrival = firstArrival ?? datagram.arrival
    switch place(of: datagram) {
    case .video:
      video.receive(datagram)
      if !video.passedOver.isEmpty { follow(video.takePassedOver()) }
      if others.count >= places.count, !others.isEmpty { passOnControl(datagram) }
    case .other(let index):
      others[index].receive(datagram)
    case .untracked:
      break
    }
  }

  private func place(of datagram: Datagram) -> Place {
    guard places.count > 1 else { return .video }
    let place = places.indices.contains(datagram.track) ? places[datagram.track] : places[0]
    guard datagram.channel == .media, let type = datagram.payloadType,
      !describes(type, at: place)
    else { return place }
    // Several media in one session: the payload type says which one it is (RFC 9143 §9.2).
    if video.describes(type) { return .video }
    return others.firstIndex { $0.describes(type) }.map { .other($0) } ?? place
  }

  private func describes(_ payloadType: UInt8, at place: Place) -> Bool {
    switch place {
    case .video: video.describes(payloadType)
    case .other(let index): others[index].describes(payloadType)
    case .untracked: false
    }
  }

  /// Follows the sources of packets that came with the video and are not of it.
  private mutating func follow(_ datagrams: [Datagram]) {
    for datagram in datagrams {
      guard let packet = try? RTPPacket(parsing: datagram.bytes), packet.ssrc != video.ssrc else {
        continue
      }
      if let index = index(ofFound: packet.ssrc) {
        others[index].receive(datagram)
        continue
      }
      let found = others.indices.filter { others[$0].place == nil }
      if found.count >= Self.maximumFound {
        // Whoever has not proved itself is the least loss.
        guard let index = found.first(where: { others[$0].ssrc == nil }) else { continue }
        others[index] = track(of: packet)
        others[index].receive(datagram)
      } else {
        others.append(track(of: packet))
        others[others.count - 1].receive(datagram)
      }
    }
  }

  private func track(of packet: RTPPacket) -> Track {
    var track = Track(
      MediaDescription(onlyPayloadType: packet.payloadType), at: nil,
      window: configuration.stream.reorderWindow)
    track.expectedSource = packet.ssrc
    return track
  }

  private func index(ofFound ssrc: UInt32) -> Int? {
    others.firstIndex { $0.place == nil && ($0.expectedSource == ssrc || $0.ssrc == ssrc) }
  }

  /// Gives the reports of a source that was found beside the video to its track too.
  private mutating func passOnControl(_ datagram: Datagram) {
    guard datagram.channel == .control || RTCPPacket.recognizes(datagram.bytes),
      let ssrc = datagram.bytes.getInteger(
        at: datagram.bytes.readerIndex + 4, as: UInt32.self),
      let index = index(ofFound: ssrc)
    else { return }
    others[index].receive(datagram)
  }
}

extension Datagram {
  /// The payload type, where this looks like RTP.
  fileprivate var payloadType: UInt8? {
    guard !RTCPPacket.recognizes(bytes) else { return nil }
    return bytes.getInteger(at: bytes.readerIndex + 1, as: UInt8.self).map { $0 & 0x7F }
  }
}

/// What was described has no video in it.
public struct NoVideo: Error, Sendable, Hashable, CustomStringConvertible {
  public let media: [MediaDescription]

  public var description: String {
    let names = media.prefix(8).map { media in
      media.encodingName.map { "\(media.kind.rawValue) (\($0))" } ?? media.kind.rawValue
    }
    return "there is no video in it, but \(names.joined(separator: ", "))"
  }
}

internal import RTPWire

/// Which of the described streams are played, and what their SETUPs need to know of them.
extension SessionDescription {
  /// The index of the stream to play, or of sound with one of `encodings` where everything is to be
  /// played and there is no video; `nil` when there is no such stream.
  ///
  /// Cameras may describe JPEG before H.264, so video that may be one of `videoEncodings` goes
  /// before other video.
  func index(
    of selection: RTSPConfiguration.Selection, preferring videoEncodings: Set<String> = [],
    orSoundOf encodings: Set<String> = []
  ) -> Int? {
    switch selection {
    case .everything: firstVideo(preferring: videoEncodings) ?? sound(of: encodings)
    case .firstVideo: firstVideo(preferring: videoEncodings)
    case .number(let number): media.indices.contains(number) ? number : nil
    }
  }

  private func firstVideo(preferring encodings: Set<String>) -> Int? {
    let videos = media.indices.filter {
      media[$0].kind == .video && !media[$0].isBackChannel && !media[$0].isRetransmission
    }
    return videos.first { media[$0].isUsable(byEncodings: encodings) } ?? videos.first
  }

  /// The index of the first sound with one of `encodings`.
  private func sound(of encodings: Set<String>) -> Int? {
    media.firstIndex {
      $0.kind == .audio && !$0.isBackChannel
        && $0.description.encodingName.map { encodings.contains($0.uppercased()) } ?? false
    }
  }

  /// The indices of the streams to deliver, in order; `selected` is one of them.
  func tracks(with selected: Int, of selection: RTSPConfiguration.Selection) -> [Int] {
    guard selection == .everything else { return [selected] }
    // An unencrypted stream beside a protected one could be forged, so it is not played with it.
    let isProtected = media[selected].isProtected
    let others = media.indices.filter { index in
      let media = media[index]
      return index != selected && !media.isBackChannel && !media.isRetransmission
        && media.rtpProfile != nil && media.isProtected == isProtected
    }
    return ([selected] + others.prefix(RTSPSetups.maximumTracks - 1)).sorted()
  }
}

extension SessionDescription.Media {
  /// The profile for Transport, as in the description; `nil` when it is not RTP.
  var rtpProfile: String? {
    switch profile.uppercased() {
    case "RTP/AVPF", "RTP/AVPF/UDP", "RTP/AVPF/TCP": return "RTP/AVPF"
    case "RTP/SAVPF", "RTP/SAVPF/UDP", "RTP/SAVPF/TCP": return "RTP/SAVPF"
    // Keys agreed on by DTLS (RFC 5764) cannot be set up through RTSP.
    case let name where !name.contains("RTP") || name.contains("TLS/"): return nil
    case let name where name.contains("SAVP"): return "RTP/SAVP"
    default: return "RTP/AVP"
    }
  }

  /// The multicast group of the media, if there is one.
  var group: RTSPSession.Ports? {
    guard let connection else { return nil }
    let sources = if case .only(let sources) = senders { sources } else { [String]() }
    return .multicast(group: connection.address, port: port, sources: sources)
  }
}

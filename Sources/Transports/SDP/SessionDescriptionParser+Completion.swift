internal import RTPWire

/// The steps after the last line.
extension SessionDescriptionParser {
  mutating func finish() throws(SessionDescriptionError) -> SessionDescription {
    guard hasVersion || !sections.isEmpty else { throw .notADescription }
    if !hasVersion { note(.missingVersion) }
    // Several small cameras leave the origin out.
    if !hasOrigin { note(.missingOrigin) }
    var places: [String: Int] = [:]
    for index in sections.indices {
      guard let media = completed(sections[index]) else { continue }
      if let name = sections[index].identification { places[name] = session.media.count }
      session.media.append(media)
    }
    for group in groups { joinRetransmission(of: group.compactMap { places[$0] }) }
    // Only sound has a back channel (ONVIF Streaming Specification §5.3). Some devices use
    // 'sendonly' for their own direction, on everything that they send or, as D-Link's DCS-2630L,
    // on the video.
    if session.media.contains(where: { $0.isBackChannel && $0.kind != .audio })
      || session.media.allSatisfy(\.isBackChannel)
    {
      for index in session.media.indices { session.media[index].isBackChannel = false }
    }
    return session
  }

  private mutating func completed(_ section: SessionDescriptionSection) -> SessionDescription.Media?
  {
    guard var media = section.media else { return nil }
    media.connection = media.connection ?? session.connection
    media.hasKeyManagement = media.hasKeyManagement || hasKeyManagement
    if media.sourceFilters.isEmpty { media.sourceFilters = sessionFilters }
    let carriers = media.payloadTypes.filter { !(section.encodings[$0]?.isAuxiliary ?? false) }
    let types = carriers.isEmpty ? media.payloadTypes.prefix(1) : carriers[...]
    let repeats = retransmissionFormats(in: section)
    for type in types.prefix(SessionDescription.maximumFormats) {
      media.formats.append(format(type, of: media, repeats, in: section))
    }
    media.inferRequests(from: repeats)
    return media
  }

  private mutating func format(
    _ payloadType: UInt8, of media: SessionDescription.Media,
    _ repeats: [UInt8: RetransmissionFormat], in section: SessionDescriptionSection
  ) -> MediaDescription {
    let assigned = RTPMap(assignedTo: payloadType)
    var map = section.encodings[payloadType] ?? assigned
    // Anpviz cameras send G.711, and write the name, the rate and the channels of AAC beside its
    // number.
    if media.kind == .audio, let assigned, ["PCMU", "PCMA"].contains(assigned.name),
      map?.name.uppercased() != assigned.name
    {
      map = assigned
    }
    if let map, map.clockRate == nil { note(.invalidClockRate(payloadType: payloadType)) }
    return MediaDescription(
      kind: media.kind, payloadType: payloadType,
      encodingName: map?.name.printable,
      clockRate: map?.clockRate
        ?? map.flatMap { StaticPayloadType(encodingName: $0.name) }?.clockRate,
      channels: map?.channels,
      formatParameters: parameters(of: payloadType, in: section),
      correctionFormats: section.correctionFormats,
      redundancyPayloadType: media.payloadTypes.first {
        section.encodings[$0]?.name.lowercased() == "red"
      },
      retransmissionFormats: repeats, feedback: section.feedback(for: payloadType))
  }

  /// Joins the media and its retransmissions among sections that belong together (RFC 4588 §8.6).
  private mutating func joinRetransmission(of group: [Int]) {
    guard let first = group.first(where: { !session.media[$0].isRetransmission }),
      let second = group.first(where: { session.media[$0].isRetransmission })
    else { return }
    // If only one of the two is protected, the description is wrong.
    guard session.media[first].isProtected == session.media[second].isProtected,
      session.media[first].cryptos.isEmpty == session.media[second].cryptos.isEmpty
    else { return }
    let formats = session.media[second].description.retransmissionFormats
    if session.media[first].port > 0, session.media[first].port == session.media[second].port {
      // On one port they are one session, whatever the lines say.
      session.media[first].changeFormats {
        $0.retransmissionFormats.merge(formats) { own, _ in own }
      }
    } else {
      session.media[first].retransmission = second
      session.media[first].changeFormats { $0.retransmissionSession = formats }
    }
    session.media[first].inferRequests(from: formats)
  }

  /// The types of RFC 4588, each with `apt` and perhaps `rtx-time` (§8.1), in milliseconds.
  private mutating func retransmissionFormats(
    in section: SessionDescriptionSection
  ) -> [UInt8: RetransmissionFormat] {
    var formats: [UInt8: RetransmissionFormat] = [:]
    for type in section.media?.payloadTypes ?? []
    where section.encodings[type]?.name.lowercased() == "rtx" {
      let parameters = parameters(of: type, in: section)
      guard let original = parameters["apt"].flatMap({ UInt8($0) }), original <= 127 else {
        continue
      }
      let time = parameters["rtx-time"].flatMap { UInt32($0) }
      formats[type] = RetransmissionFormat(
        original: original, time: time.map { .milliseconds(Int64($0)) })
    }
    return formats
  }

  private mutating func parameters(
    of payloadType: UInt8, in section: SessionDescriptionSection
  ) -> [String: String] {
    if let own = section.parameters[payloadType] { return own }
    // Some cameras put the video's line at the end of the audio's section.
    for other in sections where other.encodings[payloadType] == nil {
      guard let parameters = other.parameters[payloadType] else { continue }
      note(.formatParametersElsewhere(payloadType: payloadType))
      return parameters
    }
    // Hikvision cameras give the parameters of their sound another number: rtpmap:104, fmtp:97.
    if section.encodings.count == 1, section.encodings[payloadType] != nil,
      section.parameters.count == 1, let (number, parameters) = section.parameters.first,
      sections.allSatisfy({ $0.encodings[number] == nil })
    {
      note(.formatParametersElsewhere(payloadType: payloadType))
      return parameters
    }
    return [:]
  }
}

extension SessionDescription.Media {
  /// Assumes that a sender of retransmissions accepts requests: GStreamer's server lists no
  /// messages.
  fileprivate mutating func inferRequests(from formats: [UInt8: RetransmissionFormat]) {
    let hasFeedback = profile.uppercased().contains("AVPF")
    changeFormats { format in
      guard hasFeedback, formats.values.contains(where: { $0.original == format.payloadType })
      else { return }
      format.feedback.requests.insert(.nack)
    }
  }
}

internal import RTPWire

/// Takes the lines of a session description in order and puts them together at the end.
///
/// Attributes may come before or after what they belong to, even in another section, so sections
/// are completed when all lines are known.
struct SessionDescriptionParser {
  private var session = SessionDescription()
  private var sessionFilters: [SessionDescription.SourceFilter] = []
  private var sections: [Section] = []
  /// What belongs together (RFC 5888 §5), by the names of the sections.
  private var groups: [[String]] = []
  private var hasVersion = false
  private var hasOrigin = false

  /// An `m=` section as far as it is known; `nil` media stands for one that is ignored.
  private struct Section {
    var media: SessionDescription.Media?
    var encodings: [UInt8: RTPMap] = [:]
    /// What stands behind the type in `a=fmtp`; taken apart for the type that is chosen.
    var parameters: [UInt8: String] = [:]
    /// What stands in `a=rtcp-fb` (RFC 4585 §4.2), by type; `nil` stands for all.
    var feedback: [UInt8?: Set<FeedbackRequest>] = [:]
    var acceptsReducedSize = false
    /// The name by which groups call it (RFC 5888 §4).
    var identification: String?

    /// Those of its types that correct others.
    var correctionFormats: [UInt8: CorrectionFormat] {
      encodings.filter { media?.payloadTypes.contains($0.key) ?? false }
        .compactMapValues { CorrectionFormat(rawValue: $0.name.lowercased()) }
    }

    /// What the sender answers about packets of `payloadType`.
    func feedback(for payloadType: UInt8) -> FeedbackOffer {
      let requests = feedback[payloadType, default: []].union(feedback[nil, default: []])
      return FeedbackOffer(requests, acceptsReducedSize: acceptsReducedSize)
    }
  }

  mutating func read(_ line: ArraySlice<UInt8>) throws(SessionDescriptionError) {
    guard !line.contains(0) else {
      note(.nulByte)
      // What follows must not be taken for the section before.
      if line.starts(with: "m=".utf8) { try begin(nil) }
      return
    }
    // A byte order mark, as Windows editors put it at the beginning of a file.
    let line = line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
    guard let type = line.first, line.dropFirst().first == UInt8(ascii: "=") else {
      note(.invalidLine)
      return
    }
    // Before it is text: keys stand there.
    if line.starts(with: Self.crypto) { return readCrypto(line.dropFirst(Self.crypto.count)) }
    let value = text(line.dropFirst(2))
    switch type {
    case UInt8(ascii: "v"): hasVersion = true
    case UInt8(ascii: "o"):
      hasOrigin = true
      if !sections.isEmpty { note(.misplacedOrigin) }
    case UInt8(ascii: "t"):
      // FLIR cameras write ‘t=now-’.
      let times = value.split(separator: " ")
      if times.count != 2 || !times.allSatisfy({ UInt64($0) != nil }) { note(.invalidTiming) }
    case UInt8(ascii: "c"): readConnection(value)
    case UInt8(ascii: "m"): try readMedia(value)
    case UInt8(ascii: "a"): readAttribute(value)
    default: break
    }
  }

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
    // Some devices mean themselves by ‘sendonly’, and mark all that they send.
    if session.media.allSatisfy(\.isBackChannel) {
      for index in session.media.indices { session.media[index].isBackChannel = false }
    }
    return session
  }

  // MARK: Lines

  /// `<nettype> <addrtype> <connection-address>` (§5.7).
  private mutating func readConnection(_ value: String) {
    let words = value.split(separator: " ")
    if words.count != 3 || words[0] != "IN" || !["IP4", "IP6"].contains(words[1]) {
      note(.invalidConnection)
    }
    // Uniview, Vurix, Altasec and Verint devices write ‘IN’, ‘IN IPV4’, ‘IN c=IN IP4 192.0.2.1’,
    // ‘IP IP4 192.0.2.1’, or leave the type out: what looks like an address is one.
    guard let last = words.last else { return }
    let parts = last.split(separator: "/", omittingEmptySubsequences: false)
    let isNamed = words.count == 3 && words[1].hasPrefix("IP")
    guard let address = parts.first, isNamed || address.contains(".") || address.contains(":"),
      !address.isEmpty
    else {
      note(.invalidConnection)
      return
    }
    let connection = SessionDescription.Connection(
      address: String(address),
      timeToLive: address.contains(":") ? nil : parts.dropFirst().first.flatMap { UInt8($0) })
    if sections.isEmpty {
      session.connection = connection
    } else {
      withMedia { $0.connection = connection }
    }
  }

  /// `<media> <port>[/<count>] <profile> <payload type> …` (§5.14).
  private mutating func readMedia(_ value: String) throws(SessionDescriptionError) {
    // There are 128 types, so what follows so many words can bring no other.
    let words = value.split(separator: " ", maxSplits: 3 + 128)
    guard words.count >= 4, let port = words[1].split(separator: "/").first.flatMap({ Int($0) }),
      (0...65_535).contains(port)
    else { return try begin(nil) }
    var payloadTypes: [UInt8] = []
    for word in words.dropFirst(3) {
      guard let number = UInt8(word), number <= 127 else {
        note(.invalidPayloadType)
        continue
      }
      if !payloadTypes.contains(number) { payloadTypes.append(number) }
    }
    // TP-Link cameras offer ‘m=application/TP-LINK 0 RTP/AVP smart/1/90000’ beside the video.
    guard !payloadTypes.isEmpty else { return try begin(nil) }
    let kind = words[0].lowercased().printable
    try begin(
      SessionDescription.Media(
        kind: kind, port: port, profile: String(words[2]), payloadTypes: payloadTypes,
        description: MediaDescription(kind: kind)))
  }

  private mutating func begin(
    _ media: SessionDescription.Media?
  ) throws(SessionDescriptionError) {
    guard sections.count < SessionDescription.maximumMedia else {
      throw .tooManyMedia(limit: SessionDescription.maximumMedia)
    }
    if media == nil { note(.ignoredMedia) }
    sections.append(Section(media: media))
  }

  private mutating func readAttribute(_ line: String) {
    let colon = line.firstIndex(of: ":") ?? line.endIndex
    let name = line[..<colon]
    let value = line[colon...].dropFirst().trimmed
    switch name {
    case "rtpmap":
      guard let map = RTPMap(value) else { return note(.invalidPayloadType) }
      withSection { $0.encodings[map.payloadType] = $0.encodings[map.payloadType] ?? map }
    case "fmtp": readFormatParameters(value)
    case "control":
      if sections.isEmpty { session.control = value }
      withMedia { $0.control = value }
    case "rtcp":
      let port = value.split(separator: " ").first.flatMap { Int($0) }
      if let port, (1...65_535).contains(port) { withMedia { $0.controlPort = port } }
    case "rtcp-mux": withMedia { $0.isControlMultiplexed = true }
    case "rtcp-rsize": withSection { $0.acceptsReducedSize = true }
    case "rtcp-fb": readFeedback(value)
    case "mid": withSection { $0.identification = value }
    case "group": readGroup(value)
    case "sendonly": withMedia { $0.isBackChannel = true }
    case "source-filter": readSourceFilter(value)
    default: break
    }
  }

  /// `<payload type> <key>=<value>;…` (§6.15 and the payload format's own RFC).
  private mutating func readFormatParameters(_ value: String) {
    let words = value.split(separator: " ", maxSplits: 1)
    guard let payloadType = words.first.flatMap({ UInt8($0) }), payloadType <= 127 else {
      return note(.invalidPayloadType)
    }
    // Ubiquiti cameras write ‘a=fmtp:96’ alone.
    guard words.count == 2 else { return note(.emptyFormatParameters) }
    let parameters = String(words[1])
    withSection { $0.parameters[payloadType] = $0.parameters[payloadType] ?? parameters }
  }

  /// `<payload type or *> <message> [<parameter>]` (RFC 4585 §4.2, RFC 5104 §7.1).
  private mutating func readFeedback(_ value: String) {
    let words = value.lowercased().split(separator: " ")
    guard let type = words.first else { return }
    let payloadType = UInt8(type)
    guard type == "*" || payloadType.map({ $0 <= 127 }) ?? false else {
      return note(.invalidPayloadType)
    }
    let request: FeedbackRequest
    switch words.dropFirst() {
    case ["nack"]: request = .nack
    case ["nack", "pli"]: request = .pli
    case ["ccm", "fir"]: request = .fir
    default: return
    }
    withSection { _ = $0.feedback[payloadType, default: []].insert(request) }
  }

  /// `FID <name> <name> …` (RFC 5888 §5): what shows the same flow.
  private mutating func readGroup(_ value: String) {
    let words = value.split(separator: " ").map(String.init)
    guard words.first == "FID", groups.count < SessionDescription.maximumMedia else { return }
    groups.append(Array(words.dropFirst().prefix(SessionDescription.maximumMedia)))
  }

  /// `incl <nettype> <address types> <destination> <source> …` (RFC 4570 §3).
  private mutating func readSourceFilter(_ value: String) {
    let words = value.split(separator: " ")
    guard words.count >= 5, words[0].lowercased() == "incl" else { return }
    let filter = SessionDescription.SourceFilter(
      destination: String(words[3]), sources: words.dropFirst(4).map(String.init))
    if sections.isEmpty {
      sessionFilters.append(filter)
    } else {
      withMedia { $0.sourceFilters.append(filter) }
    }
  }

  /// `<tag> <suite> <keys> [<session parameter> …]` (RFC 4568 §9.1).
  private mutating func readCrypto(_ value: ArraySlice<UInt8>) {
    let result = Result { () throws(SDESFault) in try SDESCrypto(value) }
    withMedia { media in
      guard media.cryptos.count < SessionDescription.maximumCryptos else { return }
      switch result {
      case .success(let crypto): media.cryptos.append(crypto)
      case .failure(let fault): media.cryptoFault = media.cryptoFault ?? fault
      }
    }
  }

  private static let crypto = Array("a=crypto:".utf8)

  // MARK: Putting together

  private mutating func completed(_ section: Section) -> SessionDescription.Media? {
    guard var media = section.media else { return nil }
    media.connection = media.connection ?? session.connection
    if media.sourceFilters.isEmpty { media.sourceFilters = sessionFilters }
    let carrier = media.payloadTypes.first {
      !(section.encodings[$0]?.isAuxiliary ?? false)
    }
    guard let payloadType = carrier ?? media.payloadTypes.first else { return nil }
    let map = section.encodings[payloadType] ?? RTPMap.assigned[payloadType]
    if let map, map.clockRate == nil { note(.invalidClockRate(payloadType: payloadType)) }
    media.description = MediaDescription(
      kind: media.kind, payloadType: payloadType, encodingName: map?.name.printable,
      clockRate: map?.clockRate ?? MediaDescription.videoClockRate,
      formatParameters: parameters(of: payloadType, in: section),
      correctionFormats: section.correctionFormats,
      redundancyPayloadType: media.payloadTypes.first {
        section.encodings[$0]?.name.lowercased() == "red"
      },
      retransmissionFormats: retransmissionFormats(in: section),
      feedback: section.feedback(for: payloadType))
    media.inferRequests(from: media.description.retransmissionFormats)
    return media
  }

  /// Joins the media and the retransmissions among sections that belong together (RFC 4588 §8.6).
  private mutating func joinRetransmission(of group: [Int]) {
    guard let first = group.first(where: { !session.media[$0].isRetransmission }),
      let second = group.first(where: { session.media[$0].isRetransmission })
    else { return }
    // Of two sessions of which one is protected something is said wrong.
    guard session.media[first].isProtected == session.media[second].isProtected,
      session.media[first].cryptos.isEmpty == session.media[second].cryptos.isEmpty
    else { return }
    let formats = session.media[second].description.retransmissionFormats
    if session.media[first].port > 0, session.media[first].port == session.media[second].port {
      // On one port it is one session, whatever the lines say.
      session.media[first].description.retransmissionFormats.merge(formats) { own, _ in own }
    } else {
      session.media[first].retransmission = second
      session.media[first].description.retransmissionSession = formats
    }
    session.media[first].inferRequests(from: formats)
  }

  /// The types of RFC 4588, each with `apt` and perhaps `rtx-time` (§8.1), in milliseconds.
  private mutating func retransmissionFormats(
    in section: Section
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
    of payloadType: UInt8, in section: Section
  ) -> [String: String] {
    if let own = section.parameters[payloadType] { return pairs(own) }
    // Some cameras put the video's line at the end of the audio's section.
    for other in sections where other.encodings[payloadType] == nil {
      guard let parameters = other.parameters[payloadType] else { continue }
      note(.formatParametersElsewhere(payloadType: payloadType))
      return pairs(parameters)
    }
    return [:]
  }

  private mutating func pairs(_ text: String) -> [String: String] {
    var pairs: [String: String] = [:]
    for parameter in text.split(separator: ";") {
      guard pairs.count < SessionDescription.maximumFormatParameters else {
        note(.tooManyFormatParameters)
        break
      }
      // Base64 ends in equals signs, so only the first one divides.
      let parts = parameter.split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let key = parts.first?.trimmed.lowercased(), !key.isEmpty else { continue }
      pairs[key] = parts.count == 2 ? parts[1].trimmed : ""
    }
    return pairs
  }

  private mutating func withMedia(_ body: (inout SessionDescription.Media) -> Void) {
    withSection { section in
      guard var media = section.media else { return }
      section.media = nil
      body(&media)
      section.media = media
    }
  }

  private mutating func withSection(_ body: (inout Section) -> Void) {
    guard let last = sections.indices.last else { return }
    body(&sections[last])
  }

  private mutating func note(_ diagnostic: SessionDescription.Diagnostic) {
    session.diagnostics.insert(diagnostic)
  }

  private mutating func text(_ bytes: ArraySlice<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    note(.invalidText)
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension SessionDescription.Media {
  /// Takes it that who sends packets again may be asked to: GStreamer's server names no message.
  fileprivate mutating func inferRequests(from formats: [UInt8: RetransmissionFormat]) {
    guard profile.uppercased().contains("AVPF"),
      formats.values.contains(where: { $0.original == description.payloadType })
    else { return }
    description.feedback.requests.insert(.nack)
  }
}

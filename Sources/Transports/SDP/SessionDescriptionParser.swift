internal import RTPWire

/// Takes the lines of a session description in order; ``finish()`` puts them together.
///
/// Attributes may precede or follow what they belong to, even in another section, so the sections
/// are completed after the last line.
struct SessionDescriptionParser {
  var session = SessionDescription()
  var sessionFilters: [SessionDescription.SourceFilter] = []
  var sections: [SessionDescriptionSection] = []
  /// The groups of sections that belong together (RFC 5888 §5), by section name.
  var groups: [[String]] = []
  var hasVersion = false
  var hasOrigin = false
  /// Whether the keys of all media are to be agreed on.
  var hasKeyManagement = false

  mutating func read(_ line: ArraySlice<UInt8>) throws(SessionDescriptionError) {
    guard !line.contains(0) else {
      note(.nulByte)
      // Attributes that follow must not be assigned to the previous section.
      if line.starts(with: "m=".utf8) { try begin(nil) }
      return
    }
    // Windows editors begin a file with a byte order mark.
    let line = line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
    guard let type = line.first, line.dropFirst().first == UInt8(ascii: "=") else {
      note(.invalidLine)
      return
    }
    // Before conversion to text, because the line contains keys.
    if line.starts(with: Self.crypto) { return readCrypto(line.dropFirst(Self.crypto.count)) }
    let value = text(line.dropFirst(2))
    switch type {
    case UInt8(ascii: "v"): hasVersion = true
    case UInt8(ascii: "o"):
      hasOrigin = true
      if !sections.isEmpty { note(.misplacedOrigin) }
    case UInt8(ascii: "t"):
      // FLIR cameras write 't=now-'.
      let times = value.split(separator: " ")
      if times.count != 2 || !times.allSatisfy({ UInt64($0) != nil }) { note(.invalidTiming) }
    case UInt8(ascii: "c"): readConnection(value)
    case UInt8(ascii: "m"): try readMedia(value)
    case UInt8(ascii: "a"): readAttribute(value)
    default: break
    }
  }

  // MARK: Lines

  /// `<nettype> <addrtype> <connection-address>` (§5.7).
  private mutating func readConnection(_ value: String) {
    let words = value.split(separator: " ")
    if words.count != 3 || words[0] != "IN" || !["IP4", "IP6"].contains(words[1]) {
      note(.invalidConnection)
    }
    // Uniview, Vurix, Altasec and Verint devices write 'IN', 'IN IPV4', 'IN c=IN IP4 192.0.2.1',
    // 'IP IP4 192.0.2.1', or omit the type; so the last word counts if it looks like an address.
    guard let last = words.last else { return }
    let parts = last.split(separator: "/", omittingEmptySubsequences: false)
    let isNamed = words.count == 3 && words[1].hasPrefix("IP")
    guard let address = parts.first, isNamed || address.contains(".") || address.contains(":"),
      !address.isEmpty
    else {
      note(.invalidConnection)
      return
    }
    let connection = SessionDescription.Connection(address: String(address))
    if sections.isEmpty {
      session.connection = connection
    } else {
      withMedia { $0.connection = connection }
    }
  }

  /// `<media> <port>[/<count>] <profile> <payload type> …` (§5.14).
  private mutating func readMedia(_ value: String) throws(SessionDescriptionError) {
    // There are only 128 payload types, so later words add nothing.
    // VStarcam cameras write a tab behind the last one.
    let words = value.split(maxSplits: 3 + 128) { $0 == " " || $0 == "\t" }
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
    // TP-Link cameras offer 'm=application/TP-LINK 0 RTP/AVP smart/1/90000' beside the video.
    guard !payloadTypes.isEmpty else { return try begin(nil) }
    let kind = words[0].lowercased().printable
    try begin(
      SessionDescription.Media(
        port: port, profile: String(words[2]), payloadTypes: payloadTypes,
        description: MediaDescription(kind: MediaKind(rawValue: kind))))
  }

  private mutating func begin(
    _ media: SessionDescription.Media?
  ) throws(SessionDescriptionError) {
    guard sections.count < SessionDescription.maximumMedia else {
      throw .tooManyMedia(limit: SessionDescription.maximumMedia)
    }
    if media == nil { note(.ignoredMedia) }
    sections.append(SessionDescriptionSection(media: media))
  }

  private mutating func readAttribute(_ line: String) {
    let colon = line.firstIndex(of: ":") ?? line.endIndex
    let name = line[..<colon].trimmed
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
    case "key-mgmt":
      if sections.isEmpty { hasKeyManagement = true }
      withMedia { $0.hasKeyManagement = true }
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
    // Ubiquiti cameras write just 'a=fmtp:96'.
    guard words.count == 2 else { return note(.emptyFormatParameters) }
    // The first line counts.
    guard sections.last?.parameters[payloadType] == nil else { return }
    let parameters = pairs(words[1])
    withSection { $0.parameters[payloadType] = parameters }
  }

  /// The parameters in the text of an `a=fmtp`, as far as its limits allow.
  private mutating func pairs(_ text: Substring) -> [String: String] {
    var bytes = text.utf8.prefix(SessionDescription.maximumFormatLength + 1)
    if bytes.count > SessionDescription.maximumFormatLength {
      note(.tooManyFormatParameters)
      // A part of a parameter is none.
      bytes = bytes[..<(bytes.lastIndex(of: UInt8(ascii: ";")) ?? bytes.startIndex)]
    }
    let limit = SessionDescription.maximumFormatParameters
    // What is behind the last one that counts is not split; whoever repeats a key gains nothing.
    let parameters = bytes.split(separator: UInt8(ascii: ";"), maxSplits: limit)
    if parameters.count > limit { note(.tooManyFormatParameters) }
    var pairs: [String: String] = [:]
    for parameter in parameters.prefix(limit) {
      // Base64 ends in equals signs, so only the first one separates.
      let parts = parameter.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
      ).map { Substring($0).trimmed }
      guard let key = parts.first?.lowercased(), !key.isEmpty else { continue }
      pairs[key] = parts.count == 2 ? parts[1] : ""
    }
    return pairs
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

  /// `FID <name> <name> …` (RFC 5888 §5): sections with the same flow.
  private mutating func readGroup(_ value: String) {
    let words = value.split(separator: " ").map(String.init)
    guard words.first == "FID", groups.count < SessionDescription.maximumMedia else { return }
    groups.append(Array(words.dropFirst().prefix(SessionDescription.maximumMedia)))
  }

  /// `incl|excl <nettype> <address types> <destination> <source> …` (RFC 4570 §3).
  private mutating func readSourceFilter(_ value: String) {
    let words = value.split(separator: " ")
    guard words.count >= 5, let mode = words.first?.lowercased(), ["incl", "excl"].contains(mode)
    else { return }
    let filter = SessionDescription.SourceFilter(
      destination: String(words[3]),
      sources: words.dropFirst(4).prefix(SessionDescription.maximumSources).map(String.init),
      isExcluding: mode == "excl")
    if sections.isEmpty {
      guard sessionFilters.count < SessionDescription.maximumSources else { return }
      sessionFilters.append(filter)
    } else {
      withMedia {
        guard $0.sourceFilters.count < SessionDescription.maximumSources else { return }
        $0.sourceFilters.append(filter)
      }
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

  private mutating func withMedia(_ body: (inout SessionDescription.Media) -> Void) {
    withSection { section in
      guard var media = section.media else { return }
      section.media = nil
      body(&media)
      section.media = media
    }
  }

  private mutating func withSection(_ body: (inout SessionDescriptionSection) -> Void) {
    guard let last = sections.indices.last else { return }
    body(&sections[last])
  }

  mutating func note(_ diagnostic: SessionDescription.Diagnostic) {
    session.diagnostics.insert(diagnostic)
  }

  private mutating func text(_ bytes: ArraySlice<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    note(.invalidText)
    return String(decoding: bytes, as: UTF8.self)
  }
}

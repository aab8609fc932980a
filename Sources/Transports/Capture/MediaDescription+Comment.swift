internal import RTPWire

extension [MediaDescription] {
  /// The descriptions as a session description (RFC 8866) of its own, for a comment in a capture:
  /// what decoding needs, and neither addresses nor keys; `nil` where nothing is known.
  var comment: String? {
    let sections = compactMap(\.section)
    guard !sections.isEmpty else { return nil }
    let head = ["v=0", "o=- 0 0 IN IP6 ::", "s=-", "t=0 0"]
    return (head + sections.joined()).map { $0 + "\r\n" }.joined()
  }
}

extension MediaDescription {
  fileprivate var section: [String]? {
    guard let payloadType, let encodingName else { return nil }
    let encodings: [(type: UInt8, name: String)] =
      [(payloadType, encodingName.plain)]
      + correctionFormats.sorted { $0.key < $1.key }.map { ($0.key, $0.value.rawValue) }
      + (redundancyPayloadType.map { [($0, "red")] } ?? [])
      + retransmissionFormats.keys.sorted().map { ($0, "rtx") }
    let types = encodings.map { "\($0.type)" }.joined(separator: " ")
    var lines = ["m=\(kind.plain) \(SyntheticPacket.mediaPort) RTP/AVP \(types)"]
    lines += encodings.map { "a=rtpmap:\($0.type) \($0.name)/\(clockRate)" }
    let parameters = formatParameters.sorted { $0.key < $1.key }.map { key, value in
      value.isEmpty ? key.plain : "\(key.plain)=\(value.plain)"
    }
    if !parameters.isEmpty {
      lines.append("a=fmtp:\(payloadType) \(parameters.joined(separator: ";"))")
    }
    lines += retransmissionFormats.sorted { $0.key < $1.key }.map { type, format in
      "a=fmtp:\(type) apt=\(format.original ?? payloadType)"
    }
    return lines
  }
}

extension String {
  /// The text without what would end its line or its place in it.
  fileprivate var plain: String {
    String(String.UnicodeScalarView(unicodeScalars.filter { $0.value > 0x20 && $0 != ";" }))
  }
}

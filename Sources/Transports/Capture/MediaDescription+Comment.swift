internal import RTPWire

extension [MediaDescription] {
  /// The descriptions as a session description (RFC 8866) for a comment in a capture: what decoding
  /// needs, without addresses and keys; `nil` if nothing is known.
  var comment: String? {
    let sections = enumerated().flatMap { $1.sections(ofTrack: $0) }
    guard !sections.isEmpty else { return nil }
    let groups = indices.filter { self[$0].retransmissionSession != nil }
      .map { "a=group:FID \($0) \($0)r" }
    let head = ["v=0", "o=- 0 0 IN IP6 ::", "s=-", "t=0 0"] + groups
    return (head + sections.joined()).map { $0 + "\r\n" }.joined()
  }
}

extension MediaDescription {
  /// The section of the media, and that of its retransmissions if these have a separate session.
  fileprivate func sections(ofTrack track: Int) -> [[String]] {
    guard let payloadType, encodingName != nil else { return [] }
    let carriers = [self] + otherFormats
    let corrections = correctionFormats.sorted { $0.key < $1.key }
      .map { encoding($0.key, named: $0.value.rawValue) }
    let redundancy = redundancyPayloadType.map { [encoding($0, named: "red")] } ?? []
    let media = section(
      carriers.compactMap(\.ownEncoding) + corrections + redundancy, retransmissionFormats,
      carriers.compactMap(\.parameterLine),
      at: SyntheticPacket.port(SyntheticPacket.mediaPort, ofTrack: track))
    guard let formats = retransmissionSession else { return [media] }
    // If any type in it repeats the media, a type without an original stands for all of them.
    let session = section(
      formats.isEmpty ? [encoding(payloadType, named: "rtx")] : [], formats, [],
      at: SyntheticPacket.port(SyntheticPacket.retransmissionPort, ofTrack: track))
    return [media + ["a=mid:\(track)"], session + ["a=mid:\(track)r"]]
  }

  /// What a line `a=rtpmap` says.
  private struct Encoding {
    let type: UInt8
    let map: String
  }

  /// Another encoding with its rate and its channels.
  private func encoding(_ type: UInt8, named name: String) -> Encoding {
    let further = channels.map { "/\($0)" } ?? ""
    return Encoding(type: type, map: "\(name)/\(clockRate)\(further)")
  }

  private var ownEncoding: Encoding? {
    guard let payloadType, let encodingName else { return nil }
    return encoding(payloadType, named: encodingName.plain)
  }

  private var parameterLine: String? {
    guard let payloadType, encodingName != nil, !formatParameters.isEmpty else { return nil }
    let parameters = formatParameters.sorted { $0.key < $1.key }.map { key, value in
      value.isEmpty ? key.plain : "\(key.plain)=\(value.plain)"
    }
    return "a=fmtp:\(payloadType) \(parameters.joined(separator: ";"))"
  }

  private func section(
    _ encodings: [Encoding], _ retransmissions: [UInt8: RetransmissionFormat],
    _ parameters: [String], at port: UInt16
  ) -> [String] {
    let repeats = retransmissions.sorted { $0.key < $1.key }
    let encodings = encodings + repeats.map { encoding($0.key, named: "rtx") }
    let types = encodings.map { "\($0.type)" }.joined(separator: " ")
    return ["m=\(kind.rawValue.plain) \(port) RTP/AVP \(types)"]
      + encodings.map { "a=rtpmap:\($0.type) \($0.map)" }
      + parameters
      + repeats.map { type, format in
        "a=fmtp:\(type) apt=\(format.original ?? payloadType ?? 0)"
      }
  }
}

extension String {
  /// The text without characters that would end its line or field.
  fileprivate var plain: String {
    String(String.UnicodeScalarView(unicodeScalars.filter { $0.value > 0x20 && $0 != ";" }))
  }
}

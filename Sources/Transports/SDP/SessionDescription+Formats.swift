internal import RTPWire

/// Which format describes a section: the sender may use any of those that it lists (RFC 8866
/// §5.14), as calls and browsers do, so the others stay beside it.
extension SessionDescription {
  /// The same, with each section described by the format whose payload type is asked for, or else
  /// by the first one that is known, or else by the first of all.
  public func choosing(by choice: MediaChoice) -> SessionDescription {
    var session = self
    for index in session.media.indices { session.media[index].choose(by: choice) }
    return session
  }
}

extension SessionDescription.Media {
  /// Has the format with `payloadType` describe the section, if there is one.
  mutating func use(_ payloadType: UInt8?) {
    if let format = formats.first(where: { $0.payloadType == payloadType }) { describe(by: format) }
  }

  private mutating func describe(by format: MediaDescription) {
    description = format
    description.otherFormats = formats.filter { $0.payloadType != format.payloadType }
  }

  fileprivate mutating func choose(by choice: MediaChoice) {
    let known = formats.first {
      $0.encodingName.map { choice.knownEncodings.contains($0.uppercased()) } ?? false
    }
    if let wanted = formats.first(where: { $0.payloadType == choice.payloadType }) {
      // Who asks for a type wants no other.
      description = wanted
    } else if let known {
      describe(by: known)
    } else if !choice.knownEncodings.isEmpty {
      description.alternatives = formats.dropFirst().compactMap(\.encodingName)
    }
  }

  /// Changes all formats, and the first of them describes the section.
  mutating func changeFormats(_ change: (inout MediaDescription) -> Void) {
    for index in formats.indices { change(&formats[index]) }
    description = formats.first ?? description
  }
}

internal import RTPWire

/// An `m=` section of a session description, as far as it has been read.
struct SessionDescriptionSection {
  /// `nil` if the section is ignored.
  var media: SessionDescription.Media?
  var encodings: [UInt8: RTPMap] = [:]
  /// What `a=fmtp` says of a payload type; not kept as text, since other sections may use it too.
  var parameters: [UInt8: [String: String]] = [:]
  /// The content of `a=rtcp-fb` (RFC 4585 §4.2) by payload type; `nil` means all types.
  var feedback: [UInt8?: Set<FeedbackRequest>] = [:]
  var acceptsReducedSize = false
  /// The name that groups refer to (RFC 5888 §4).
  var identification: String?

  /// Those of its payload types that are correction packets.
  var correctionFormats: [UInt8: CorrectionFormat] {
    encodings.filter { media?.payloadTypes.contains($0.key) ?? false }
      .compactMapValues { CorrectionFormat(rawValue: $0.name.lowercased()) }
  }

  /// The requests that the sender answers for packets of `payloadType`.
  func feedback(for payloadType: UInt8) -> FeedbackOffer {
    let requests = feedback[payloadType, default: []].union(feedback[nil, default: []])
    return FeedbackOffer(requests, acceptsReducedSize: acceptsReducedSize)
  }
}

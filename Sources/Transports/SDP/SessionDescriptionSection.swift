internal import RTPWire

/// An `m=` section of a session description as far as it has been read.
struct SessionDescriptionSection {
  /// `nil` when the section is ignored.
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

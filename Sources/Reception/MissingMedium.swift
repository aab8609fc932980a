public import RTPWire

/// The description contains nothing of what is wanted: neither video nor sound of a known coding,
/// or no sound where nothing else is taken.
public struct MissingMedium: Error, Sendable, Hashable, CustomStringConvertible {
  /// Video, or audio where only that is wanted.
  public let kind: MediaKind
  /// What is described instead.
  public let media: [MediaDescription]

  public var description: String {
    let names = media.prefix(8).map { media in
      media.encodingNames.map { "\(media.kind.rawValue) (\($0))" } ?? media.kind.rawValue
    }
    let isUnknown = kind == .audio && media.contains { $0.kind == .audio }
    let wanted = isUnknown ? "sound of a known coding" : kind == .audio ? "sound" : "video"
    return "there is no \(wanted) in it, but \(names.joined(separator: ", "))"
  }
}

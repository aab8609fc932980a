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
      media.encodingName.map { "\(media.kind.rawValue) (\($0))" } ?? media.kind.rawValue
    }
    return
      "there is no \(kind == .audio ? "sound" : "video") in it, but \(names.joined(separator: ", "))"
  }
}

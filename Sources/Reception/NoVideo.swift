public import RTPWire

/// The description contains neither video nor sound of a known coding.
public struct NoVideo: Error, Sendable, Hashable, CustomStringConvertible {
  public let media: [MediaDescription]

  public var description: String {
    let names = media.prefix(8).map { media in
      media.encodingName.map { "\(media.kind.rawValue) (\($0))" } ?? media.kind.rawValue
    }
    return
      "there is no video in it, but \(names.joined(separator: ", "))"
  }
}

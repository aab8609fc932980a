/// What a media stream is, as the `m=` line of its description says it (RFC 8866 §8.2.1).
public struct MediaKind: RawRepresentable, Sendable, Hashable {
  /// In lower case.
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public static let video = MediaKind(rawValue: "video")
  public static let audio = MediaKind(rawValue: "audio")
  public static let application = MediaKind(rawValue: "application")
  /// Not known.
  public static let unknown = MediaKind(rawValue: "unknown")
}

/// Which of the media that a source describes can be used.
public struct MediaChoice: TransportOption, Hashable {
  /// Encoding names, in upper case; empty where any can be.
  public var encodings: Set<String> = []

  public init() {}
}

extension TransportOptions {
  public var media: MediaChoice {
    get { self[MediaChoice.self] }
    set { self[MediaChoice.self] = newValue }
  }
}

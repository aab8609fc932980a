/// Which of a source's media can be used.
public struct MediaChoice: TransportOption, Hashable {
  /// Encoding names, in upper case; empty for any.
  public var encodings: Set<String> = []

  public init() {}
}

extension TransportOptions {
  public var media: MediaChoice {
    get { self[MediaChoice.self] }
    set { self[MediaChoice.self] = newValue }
  }
}

/// Which of a source's media can be used.
public struct MediaChoice: TransportOption, Hashable {
  /// Encoding names, in upper case; empty for any.
  public var encodings: Set<String> = []
  /// The same of sound, which is received by itself where nothing else can be; empty for none.
  public var soundEncodings: Set<String> = []
  /// The only one to receive, counted from 0 in the order of the description; `nil` for all, of
  /// which the first video must not fail.
  public var number: Int?

  public init() {}
}

extension TransportOptions {
  public var media: MediaChoice {
    get { self[MediaChoice.self] }
    set { self[MediaChoice.self] = newValue }
  }
}

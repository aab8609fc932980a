/// Which of a source's media can be used, and what is said of them from outside.
public struct MediaChoice: TransportOption, Hashable {
  /// Encoding names, in upper case; empty for any.
  public var encodings: Set<String> = []
  /// The same of video and sound, of which the first describes a medium that may come in several
  /// formats; empty for the first of all.
  public var knownEncodings: Set<String> = []
  /// The same of sound, which is received by itself where nothing else can be; empty for none.
  public var soundEncodings: Set<String> = []
  /// The only one to receive, counted from 0 in the order of the description; `nil` for all, of
  /// which the first video must not fail.
  public var number: Int?
  /// The payload type of the media, 0 … 127, if the source has to be searched for it.
  public var payloadType: UInt8?
  /// Payload types of its correction, retransmission or RED packets, in the same case.
  public var auxiliaryTypes: Set<UInt8> = []
  /// A description of the media, if one was given beside the source.
  public var description: SessionDescription?
  /// Whether all media are to come, even those that nothing takes; a server sends only what it is
  /// asked for.
  public var wantsEverything = false

  public init() {}
}

extension TransportOptions {
  public var media: MediaChoice {
    get { self[MediaChoice.self] }
    set { self[MediaChoice.self] = newValue }
  }
}

public import NIOCore
public import RTPWire

/// The streams that a source describes, or that were found in it.
public struct StreamListing: Sendable, Hashable {
  public var streams: [ListedStream]

  public init(_ streams: [ListedStream]) { self.streams = streams }

  /// The sections of a session description, in their order.
  public init(of description: SessionDescription) {
    streams = description.media.map { media in
      var stream = ListedStream(media.description)
      stream.profile = media.profile
      stream.control = media.control
      stream.isBackChannel = media.isBackChannel
      return stream
    }
  }
}

/// One stream of a ``StreamListing``.
public struct ListedStream: Sendable, Hashable {
  public var description: MediaDescription
  /// The profile from the session description, such as `RTP/AVP`.
  public var profile: String?
  /// The RTSP control URL, as written.
  public var control: String?
  /// Whether it is meant for media that the client sends.
  public var isBackChannel = false
  /// Whether it is what is played of a recording with several, unless another one is asked for.
  public var isPlayed = false
  /// What else is known of it.
  public var properties: [Property] = []
  /// What is recorded of it; `nil` if it is only described.
  public var flow: FlowFigures?

  public init(_ description: MediaDescription) { self.description = description }

  /// Something about a stream that only its transport knows.
  public struct Property: Sendable, Hashable {
    public enum Value: Sendable, Hashable {
      case text(String)
      case number(Int)
    }

    /// Its key in JSON: lower-case letters and underscores.
    public let name: String
    public let value: Value
    /// What a person sees; `nil` if it is for programs alone.
    public let shown: String?

    public init(_ name: String, _ value: Value, shown: String?) {
      (self.name, self.value, self.shown) = (name, value, shown)
    }

    /// A property that a person sees as it is.
    public init(_ name: String, _ value: Value) {
      let shown =
        switch value {
        case .text(let text): text
        case .number(let number): "\(number)"
        }
      self.init(name, value, shown: shown)
    }
  }
}

/// What a recording contains from one source.
public struct FlowFigures: Sendable, Hashable {
  /// Its origin and destination as `address:port`; `nil` if the file does not say.
  public var source: String?
  public var destination: String?
  /// The interleaved channel of an RTSP connection.
  public var channel: UInt8?
  public var ssrc: UInt32
  public var packets: UInt64
  /// Including RTP headers.
  public var bytes: UInt64
  /// Packets that are the one before once more, as at two interfaces; ``packets`` counts them too.
  public var repeated: UInt64
  /// Packets missing according to the sequence numbers.
  public var lost: UInt64
  /// The interarrival jitter (RFC 3550 §6.4.1); `nil` if the clock rate is unknown.
  public var jitter: Duration?
  /// From the first packet to the last.
  public var duration: Duration
  /// Packets of different kinds, from which to recognize the codec; at most 32.
  public var samples: [ByteBuffer]
  /// The interarrival jitter for each usual clock rate, because ``ListedStream/description`` may
  /// not know the right one.
  public var jitters: [UInt32: Duration]
}

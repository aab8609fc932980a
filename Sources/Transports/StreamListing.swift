public import NIOCore
public import RTPWire

/// The streams that a source says it has, or that were found in it.
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
  /// The profile as a session description has it, such as `RTP/AVP`.
  public var profile: String?
  /// Where RTSP plays it, as written.
  public var control: String?
  /// Whether it is for what a client sends.
  public var isBackChannel = false
  /// What is recorded of it; `nil` where it is only described.
  public var flow: FlowFigures?

  public init(_ description: MediaDescription) { self.description = description }
}

/// What a recording holds of one source.
public struct FlowFigures: Sendable, Hashable {
  /// Where it came from and went to, as `address:port`; `nil` in files that do not say.
  public var source: String?
  public var destination: String?
  /// The interleaved channel in a connection of RTSP.
  public var channel: UInt8?
  public var ssrc: UInt32
  public var packets: UInt64
  /// With RTP's own headers.
  public var bytes: UInt64
  /// Packets that the sequence numbers have places for and that are not there.
  public var lost: UInt64
  /// The interarrival jitter (RFC 3550 §6.4.1); `nil` where the clock rate is not known.
  public var jitter: Duration?
  /// From the first packet to the last.
  public var duration: Duration
  /// Packets of different kinds, by which the codec may be told; at most 32.
  public var samples: [ByteBuffer]
}

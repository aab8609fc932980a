public import NIOCore

/// What a transport delivers: the bytes of one RTP or RTCP packet, when they arrived, and on what.
///
/// Nothing downstream can tell which transport a datagram came from.
public struct Datagram: Sendable {
  /// What the transport knows about the packet before it is parsed.
  public enum Channel: Sendable, Hashable {
    /// RTP, or RTP and RTCP multiplexed (RFC 5761).
    case media
    /// A channel reserved for RTCP: the odd port of a pair, or an interleaved RTCP channel.
    case control
    /// A port reserved for correction packets of SMPTE ST 2022-1, of rows or of columns.
    case correction
    /// A session reserved for retransmissions, its RTCP included (RFC 4588 §5.3).
    case retransmission
  }

  /// The sender's address, for statistics and tests; `nil` from transports without addresses.
  public var origin: SocketAddress?
  /// The packet alone, without any framing of the transport; usually a slice of a larger read.
  public var bytes: ByteBuffer {
    didSet {
      header = nil
      isControl = channel == .control || RTCPPacket.recognizes(bytes)
    }
  }
  /// The header of the RTP packet in ``bytes``, where the transport had to read it; `nil` where it
  /// had not, and for all else.
  public private(set) var header: RTPHeader?
  /// Whether this is RTCP: found out once, because every stage asks.
  public private(set) var isControl: Bool
  /// When the read that brought the packet returned; never decreases within one transport.
  public var arrival: Instant
  /// What it came on.
  public let channel: Channel
  /// Which of the described media it belongs to: its place in what the transport described, 0
  /// first.
  ///
  /// 0 also where nothing was described, or where several media share one channel; SSRC and payload
  /// type tell those apart.
  public var track: Int

  /// `header` is what was read of these very bytes.
  public init(
    bytes: ByteBuffer, header: RTPHeader? = nil, arrival: Instant, channel: Channel = .media,
    track: Int = 0,
    origin: SocketAddress? = nil
  ) {
    self.track = track
    self.bytes = bytes
    self.header = header
    self.arrival = arrival
    self.channel = channel
    self.origin = origin
    isControl = channel == .control || header == nil && RTCPPacket.recognizes(bytes)
  }

  /// A copy with storage of its own.
  ///
  /// Datagrams that wait are copied, so that they do not keep the whole read in memory.
  public var detached: Datagram {
    Datagram(
      bytes: ByteBuffer(bytes: bytes.readableBytesView), header: header, arrival: arrival,
      channel: channel, track: track, origin: origin)
  }
}

extension Datagram {
  /// The payload type, if this looks like RTP.
  public var payloadType: UInt8? {
    if let header { return header.payloadType }
    guard !isControl else { return nil }
    return bytes.getInteger(at: bytes.readerIndex + 1, as: UInt8.self).map { $0 & 0x7F }
  }
}

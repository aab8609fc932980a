public import NIOCore
import RTPWire

/// Turns access units into RTP payloads.
public protocol Packetizer: Sendable {
  /// The payloads that `unit` completes, in sending order.
  ///
  /// NAL units that cannot be sent are left out (``Codec/canSend(_:)``).
  mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload]

  /// The payloads of what was held back for interleaving.
  mutating func finish() -> [RTPPayload]
}

/// One RTP payload and what its packet's header has to say about it.
public struct RTPPayload: Sendable, Equatable {
  /// The payload, with room for the header before it, so that nothing has to be copied again.
  public var bytes: ByteBuffer
  /// The media time of the packet in ticks of the track's clock.
  public var ticks: Int64
  /// True on the last packet of an access unit (RFC 6184 §5.1, RFC 7798 §4.1), and of sound that
  /// has none on the first one behind a silence (RFC 3551 §4.1).
  public var marker: Bool
  /// The time of the latest picture of which it holds anything and at which decoding can begin, if
  /// there is one; not that of the packet where pictures of several times share it (RFC 6184
  /// §5.7.2).
  public var key: Int64?

  public init(bytes: ByteBuffer, ticks: Int64, marker: Bool, key: Int64? = nil) {
    self.bytes = bytes
    self.ticks = ticks
    self.marker = marker
    self.key = key
  }

  /// An empty buffer for a payload of `capacity` bytes, with room for the RTP header before it.
  static func buffer(capacity: Int) -> ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: RTPPacket.minimumLength + capacity)
    buffer.moveWriterIndex(to: RTPPacket.minimumLength)
    buffer.moveReaderIndex(to: RTPPacket.minimumLength)
    return buffer
  }

  /// The same bytes, with room for the RTP header before them.
  static func copy(of bytes: ByteBuffer) -> ByteBuffer {
    var buffer = buffer(capacity: bytes.readableBytes)
    buffer.writeImmutableBuffer(bytes)
    return buffer
  }

  /// The smallest limit with which every packetizer can still send fragments.
  static let minimumLimit = 16
}

/// How many NAL units fit in one aggregation packet, counted as they are added.
struct Aggregate {
  private(set) var units: [ByteBuffer] = []
  private var length: Int
  private let overhead: Int
  private let limit: Int

  /// Starts with a packet header of `header` bytes, to which each unit adds itself and `overhead`.
  init(header: Int, overhead: Int, limit: Int) {
    length = header
    self.overhead = overhead
    self.limit = limit
  }

  /// Adds `unit` if the packet stays within its limit.
  mutating func add(_ unit: ByteBuffer) -> Bool {
    guard length + overhead + unit.readableBytes <= limit else { return false }
    length += overhead + unit.readableBytes
    units.append(unit)
    return true
  }
}

extension ByteBuffer {
  /// The bytes of a NAL unit cut into fragments: at least two, each as full as the limits allow.
  ///
  /// A unit that fits in one packet must not be sent as a fragmentation unit (RFC 6184 §5.8), and a
  /// unit that did not fit with its aggregation header may fit without, so the first is at most
  /// half.
  func fragments(afterHeader header: Int, first: Int, others: Int) -> [ByteBuffer] {
    var rest = self
    rest.moveReaderIndex(forwardBy: min(header, rest.readableBytes))
    var fragments: [ByteBuffer] = []
    var limit = min(first, (rest.readableBytes + 1) / 2)
    while rest.readableBytes > 0,
      let fragment = rest.readSlice(length: min(max(1, limit), rest.readableBytes))
    {
      fragments.append(fragment)
      limit = others
    }
    return fragments
  }
}

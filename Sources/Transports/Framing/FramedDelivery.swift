internal import NIOCore
internal import RTPWire

/// The packets in what a connection brings, read by read.
///
/// What is not pulled waits here; whoever reads is told what has been worked off, and reads no more
/// than what may wait.
struct FramedDelivery {
  /// Why what comes is no stream of packets, or ceased to be.
  enum Fault: Error, Sendable, Hashable {
    /// What came first is no RTP or RTCP packet behind its length.
    case notPackets
    /// What came first is a page for a browser.
    case webPage
    /// What came first is the beginning of a pcap or pcapng file.
    case capture
    /// A length of more bytes than a packet may have.
    case lost(length: Int, limit: Int)
  }

  enum Event: Sendable {
    case packet(Datagram)
    /// A read of so many bytes has been worked off.
    case readCompleted(bytes: Int, at: Instant)
  }

  private(set) var delivered: UInt64 = 0
  private(set) var deliveredBytes: UInt64 = 0
  /// When the last whole packet was read.
  private(set) var lastPacket: Instant?
  private var packets: FramedPackets
  private var waiting = CircularBuffer<(bytes: ByteBuffer, arrival: Instant)>()
  private var arrival = Instant(nanoseconds: .min)
  /// Bytes of the read that is being worked off.
  private var underway = 0

  /// Bytes of the shortest RTP packet (RFC 3550 §5.1): less tells nothing.
  private static let leastTelling = 12

  /// The first four bytes of pcapng, and of pcap in both byte orders, in micro- and nanoseconds.
  private static let captureBeginnings: Set<Int> = [
    0x0A0D_0D0A, 0xA1B2_C3D4, 0xD4C3_B2A1, 0xA1B2_3C4D, 0x4D3C_B2A1,
  ]

  init(_ framing: PacketFraming, limit: Int = FramedPackets.defaultLimit) {
    packets = FramedPackets(framing, limit: limit)
  }

  var emptyPackets: UInt64 { packets.emptyPackets }

  /// Whether a packet has begun whose end has not come.
  var isInsidePacket: Bool { packets.isInsidePacket }

  /// Whether nothing waits behind the read that was worked off last.
  var isWorkedOff: Bool { waiting.isEmpty }

  mutating func append(_ bytes: ByteBuffer, at arrival: Instant) {
    waiting.append((bytes, max(arrival, waiting.last?.arrival ?? self.arrival)))
  }

  /// What comes next; `nil` when there is no whole packet.
  mutating func next() throws(Fault) -> Event? {
    while true {
      if let packet = try nextPacket() {
        delivered += 1
        deliveredBytes += UInt64(packet.readableBytes)
        lastPacket = arrival
        return .packet(Datagram(bytes: packet, arrival: arrival))
      }
      if underway > 0 {
        defer { underway = 0 }
        return .readCompleted(bytes: underway, at: arrival)
      }
      guard let read = waiting.popFirst() else { return nil }
      packets.append(read.bytes)
      underway = read.bytes.readableBytes
      arrival = read.arrival
    }
  }

  private mutating func nextPacket() throws(Fault) -> ByteBuffer? {
    let packet: ByteBuffer?
    do throws(FramedPackets.ImpossibleLength) {
      packet = try packets.next()
    } catch {
      guard delivered == 0 else { throw .lost(length: error.length, limit: error.limit) }
      if Self.captureBeginnings.contains(error.length) { throw .capture }
      // A web page whose type is not said, or not believed: ‘<!DO’, ‘<htm’.
      throw error.length >> 24 == Int(UInt8(ascii: "<")) ? .webPage : .notPackets
    }
    guard let packet, delivered == 0, packet.readableBytes >= Self.leastTelling else {
      return packet
    }
    // RFC 3550 §5.1: version 2 in the first two bits, of RTP and RTCP alike.
    let first = packet.getInteger(at: packet.readerIndex, as: UInt8.self) ?? 0
    guard first >> 6 == 2 else { throw .notPackets }
    return packet
  }
}

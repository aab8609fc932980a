internal import NIOCore
internal import RTPWire

/// Extracts the packets from the reads of a connection.
///
/// Bytes wait here until they are pulled. The reader is told how many were consumed, and reads no
/// more than may wait.
struct FramedDelivery {
  /// Why the bytes are no stream of packets, or stopped being one.
  enum Fault: Error, Sendable, Hashable {
    /// The first bytes are not a length and an RTP or RTCP packet.
    case notPackets
    /// The first bytes are a page for a browser.
    case webPage
    /// The first bytes are the beginning of a pcap or pcapng file.
    case capture
    /// The first bytes, as far as they have come, are those of something else that is known.
    case foreign(ForeignContent)
    /// A length above the limit for a packet.
    case lost(length: Int, limit: Int)
  }

  enum Event: Sendable {
    case packet(Datagram)
    /// All packets of a read of so many bytes have been returned.
    case readCompleted(bytes: Int, at: Instant)
  }

  private(set) var delivered: UInt64 = 0
  private(set) var deliveredBytes: UInt64 = 0
  /// When the last whole packet arrived.
  private(set) var lastPacket: Instant?
  private var packets: FramedPackets
  /// Whether a packet has come that can only be RTP or RTCP.
  private var isProven = false
  /// The first bytes, until that is so.
  private var beginning = ByteBuffer()
  private var waiting = CircularBuffer<(bytes: ByteBuffer, arrival: Instant)>()
  private var arrival = Instant(nanoseconds: .min)
  /// Bytes of the read that is being parsed.
  private var underway = 0

  /// Bytes of the shortest RTP packet (RFC 3550 §5.1); fewer bytes prove nothing.
  private static let leastTelling = 12

  /// The first four bytes of pcapng, and of pcap in both byte orders, in micro- and nanoseconds.
  private static let captureBeginnings: Set<Int> = [
    0x0A0D_0D0A, 0xA1B2_C3D4, 0xD4C3_B2A1, 0xA1B2_3C4D, 0x4D3C_B2A1,
  ]

  init(_ framing: PacketFraming, limit: Int = FramedPackets.defaultLimit) {
    packets = FramedPackets(framing, limit: limit)
  }

  var emptyPackets: UInt64 { packets.emptyPackets }

  /// Whether a packet has begun but not ended.
  var isInsidePacket: Bool { packets.isInsidePacket }

  /// What the bytes are, if no packet is among them and they are known.
  var foreignContent: ForeignContent? {
    isProven ? nil : ForeignContent(beginning: beginning)
  }

  /// Whether no further read waits.
  var isWorkedOff: Bool { waiting.isEmpty }

  mutating func append(_ bytes: ByteBuffer, at arrival: Instant) {
    waiting.append((bytes, max(arrival, waiting.last?.arrival ?? self.arrival)))
  }

  /// The next event; `nil` when there is no whole packet.
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
      keepBeginning(of: read.bytes)
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
      guard !isProven else { throw .lost(length: error.length, limit: error.limit) }
      if Self.captureBeginnings.contains(error.length) { throw .capture }
      // A web page with a missing or wrong content type: '<!DO', '<htm'.
      if error.length >> 24 == Int(UInt8(ascii: "<")) { throw .webPage }
      throw contents
        ?? (delivered == 0 ? .notPackets : .lost(length: error.length, limit: error.limit))
    }
    guard let packet, !isProven, packet.readableBytes >= Self.leastTelling else { return packet }
    // RFC 3550 §5.1: RTP and RTCP both have version 2 in the first two bits.
    let first = packet.getInteger(at: packet.readerIndex, as: UInt8.self) ?? 0
    if first >> 6 != 2, let fault = contents ?? (delivered == 0 ? .notPackets : nil) { throw fault }
    isProven = true
    beginning = ByteBuffer()
    return packet
  }

  private var contents: Fault? { foreignContent.map { .foreign($0) } }

  private mutating func keepBeginning(of bytes: ByteBuffer) {
    let missing = ForeignContent.signatureLength - beginning.readableBytes
    guard !isProven, missing > 0 else { return }
    beginning.writeBytes(bytes.readableBytesView.prefix(missing))
  }
}

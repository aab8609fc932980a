internal import NIOCore
internal import RTPWire

/// Gives a packet the IP and UDP headers that it had, or could have had, for programs that read
/// captures.
///
/// The receiver's address is one for documentation (RFC 5737, RFC 3849), because transports do not
/// report it; so is an unknown sender's. Packets without a sender's address get IPv6, because they
/// may come from a byte stream and be too long for UDP over IPv4.
struct SyntheticPacket {
  static let mediaPort: UInt16 = 5004
  static let controlPort: UInt16 = 5005
  static let correctionPort: UInt16 = 5006
  static let retransmissionPort: UInt16 = 5010
  /// The distance between the ports of consecutive tracks.
  private static let portsOfTrack = 16
  private static let maximumTracks = 256

  /// The port of a track, if that of the first track is `first`.
  static func port(_ first: UInt16, ofTrack track: Int) -> UInt16 {
    first + UInt16(clamping: min(max(track, 0), maximumTracks) * portsOfTrack)
  }

  private static let sender = IPAddress(version6: 0x2001_0DB8_0000_0000, 1)
  private static let receiver = IPAddress(version6: 0x2001_0DB8_0000_0000, 2)
  private static let receiver4 = IPAddress(version4: 0xC000_0202)
  /// The largest packet that the 16-bit lengths of IPv4 and UDP allow.
  private static let maximumVersion4 = 65_535 - 20 - UDPDatagram.headerLength
  private static let maximumUDP = 65_535 - UDPDatagram.headerLength
  private static let hopLimit: UInt8 = 64

  private let source: IPEndpoint
  private let destination: IPEndpoint
  private let payload: ByteBuffer

  init(_ datagram: Datagram, from origin: IPEndpoint?) {
    let first =
      switch datagram.channel {
      case .media: Self.mediaPort
      case .control: Self.controlPort
      case .correction: Self.correctionPort
      case .retransmission: Self.retransmissionPort
      }
    let port = Self.port(first, ofTrack: datagram.track)
    payload = datagram.bytes
    if let origin, !origin.address.isVersion6, payload.readableBytes <= Self.maximumVersion4 {
      source = origin
      destination = IPEndpoint(address: Self.receiver4, port: port)
    } else {
      source =
        origin?.address.isVersion6 == true
        ? origin ?? IPEndpoint(address: Self.sender, port: port)
        : IPEndpoint(address: Self.sender, port: origin?.port ?? port)
      destination = IPEndpoint(address: Self.receiver, port: port)
    }
  }

  private var isVersion6: Bool { source.address.isVersion6 }
  /// Whether UDP's length cannot express the packet's size (RFC 2675).
  private var isJumbo: Bool { isVersion6 && payload.readableBytes > Self.maximumUDP }
  private var datagramLength: Int { UDPDatagram.headerLength + payload.readableBytes }

  /// The packet's size in bytes, including headers.
  var length: Int { (isVersion6 ? 40 + (isJumbo ? 8 : 0) : 20) + datagramLength }

  /// Appends the packet to `bytes`, with valid checksums.
  func write(to bytes: inout ByteBuffer) {
    if isVersion6 { writeVersion6(to: &bytes) } else { writeVersion4(to: &bytes) }
    bytes.writeMultipleIntegers(
      source.port, destination.port, isJumbo ? 0 : UInt16(clamping: datagramLength), checksum)
    bytes.writeImmutableBuffer(payload)
  }

  private func writeVersion4(to bytes: inout ByteBuffer) {
    var header = ByteBuffer()
    header.writeMultipleIntegers(
      UInt16(0x4500), UInt16(clamping: length), UInt16(0), UInt16(0x4000), Self.hopLimit,
      IPPacket.Number.udp, UInt16(0))
    header.writeImmutableBuffer(source.address.bytes)
    header.writeImmutableBuffer(destination.address.bytes)
    var sum = InternetChecksum()
    sum.add(header)
    header.setInteger(sum.value, at: 10)
    bytes.writeImmutableBuffer(header)
  }

  private func writeVersion6(to bytes: inout ByteBuffer) {
    bytes.writeMultipleIntegers(
      UInt32(0x6000_0000), isJumbo ? UInt16(0) : UInt16(clamping: datagramLength),
      isJumbo ? UInt8(0) : IPPacket.Number.udp, Self.hopLimit)
    bytes.writeImmutableBuffer(source.address.bytes)
    bytes.writeImmutableBuffer(destination.address.bytes)
    guard isJumbo else { return }
    // A hop-by-hop header with the Jumbo Payload option, whose length includes that header.
    bytes.writeMultipleIntegers(
      IPPacket.Number.udp, UInt8(0), UInt8(0xC2), UInt8(4), UInt32(clamping: datagramLength + 8))
  }

  /// UDP's checksum over the IP pseudo-header, the header and the payload (RFC 768, RFC 8200 §8.1).
  private var checksum: UInt16 {
    var head = source.address.bytes
    head.writeImmutableBuffer(destination.address.bytes)
    head.writeMultipleIntegers(UInt32(clamping: datagramLength), UInt32(IPPacket.Number.udp))
    head.writeMultipleIntegers(
      source.port, destination.port, isJumbo ? 0 : UInt16(clamping: datagramLength), UInt16(0))
    var sum = InternetChecksum()
    sum.add(head)
    sum.add(payload)
    // 0 would mean that there is no checksum.
    return sum.value == 0 ? 0xFFFF : sum.value
  }
}

/// The checksum of IP, UDP and TCP (RFC 1071).
struct InternetChecksum: Sendable {
  /// In ones' complement, which 16-bit words may enter four at a time (§2 C).
  private var sum: UInt64 = 0

  /// Adds bytes: an even number, except at the end.
  mutating func add(_ bytes: ByteBuffer) {
    unsafe bytes.withUnsafeReadableBytes { bytes in
      var offset = 0
      while offset + 8 <= bytes.count {
        add(
          UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        offset += 8
      }
      var rest: UInt64 = 0
      var shift: UInt64 = 0
      while offset < bytes.count {
        rest |= UInt64(unsafe bytes[offset]) << shift
        offset += 1
        shift += 8
      }
      add(rest)
    }
  }

  private mutating func add(_ words: UInt64) {
    let (partial, isOver) = sum.addingReportingOverflow(words)
    sum = isOver ? partial &+ 1 : partial
  }

  var value: UInt16 {
    var folded = sum
    while folded > 0xFFFF { folded = (folded & 0xFFFF) + folded >> 16 }
    // In either byte order the sum is the same, except for its own byte order (§2 B).
    return ~UInt16(folded).byteSwapped
  }
}

internal import NIOCore

/// A UDP datagram (RFC 768) in the payload of an IP packet.
struct UDPDatagram: Sendable, Hashable {
  static let headerLength = 8

  let sourcePort: UInt16
  let destinationPort: UInt16
  let payload: ByteBuffer

  /// Reads a datagram; `nil` if its length does not fit.
  init?(parsing bytes: ByteBuffer) {
    guard
      let (source, destination, length, _) = bytes.getMultipleIntegers(
        at: bytes.readerIndex, as: (UInt16, UInt16, UInt16, UInt16).self)
    else { return nil }
    // In a jumbogram the length is 0 (RFC 2675 §4).
    let count = length == 0 ? bytes.readableBytes : Int(length)
    guard count >= Self.headerLength,
      let payload = bytes.getSlice(
        at: bytes.readerIndex + Self.headerLength, length: count - Self.headerLength)
    else { return nil }
    sourcePort = source
    destinationPort = destination
    self.payload = payload
  }

  /// Whether the checksum of a packet's datagram is right (RFC 768, RFC 8200 §8.1).
  ///
  /// True where there is none. Only of use for what was in fragments: the checksums of others may
  /// be left to the interface, behind the place where they are recorded.
  static func checksumHolds(_ packet: IPPacket) -> Bool {
    let bytes = packet.payload
    guard packet.number == IPPacket.Number.udp,
      let (length, checksum) = bytes.getMultipleIntegers(
        at: bytes.readerIndex + 4, as: (UInt16, UInt16).self),
      checksum != 0, let datagram = bytes.getSlice(at: bytes.readerIndex, length: Int(length))
    else { return true }
    var pseudoHeader = packet.source.bytes
    pseudoHeader.writeImmutableBuffer(packet.destination.bytes)
    pseudoHeader.writeMultipleIntegers(UInt32(length), UInt32(IPPacket.Number.udp))
    var sum = InternetChecksum()
    sum.add(pseudoHeader)
    sum.add(datagram)
    return sum.value == 0
  }
}

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
}

internal import NIOCore

/// A TCP segment (RFC 9293 §3.1) in the payload of an IP packet, without its options.
struct TCPSegment: Sendable, Hashable {
  let sourcePort: UInt16
  let destinationPort: UInt16
  /// The number of the first byte of ``payload``, or of SYN.
  let sequenceNumber: UInt32
  /// Whether the connection begins here.
  let isSynchronizing: Bool
  let payload: ByteBuffer

  /// Reads a segment; `nil` if its header does not end in `bytes`.
  init?(parsing bytes: ByteBuffer) {
    let start = bytes.readerIndex
    guard
      let (source, destination, sequence, _, offset, flags, _, _, _) = bytes.getMultipleIntegers(
        at: start,
        as: (UInt16, UInt16, UInt32, UInt32, UInt8, UInt8, UInt16, UInt16, UInt16).self)
    else { return nil }
    let headerLength = 4 * Int(offset >> 4)
    guard headerLength >= 20, headerLength <= bytes.readableBytes,
      let payload = bytes.getSlice(
        at: start + headerLength, length: bytes.readableBytes - headerLength)
    else { return nil }
    sourcePort = source
    destinationPort = destination
    sequenceNumber = sequence
    isSynchronizing = flags & 0x02 != 0
    self.payload = payload
  }

  init(
    sourcePort: UInt16, destinationPort: UInt16, sequenceNumber: UInt32,
    isSynchronizing: Bool = false, payload: ByteBuffer
  ) {
    self.sourcePort = sourcePort
    self.destinationPort = destinationPort
    self.sequenceNumber = sequenceNumber
    self.isSynchronizing = isSynchronizing
    self.payload = payload
  }
}

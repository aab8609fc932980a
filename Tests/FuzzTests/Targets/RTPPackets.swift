import NIOCore
import RTPWire

extension FuzzTarget {
  /// F1: the header of RTP packets, its extension, RED and retransmissions (RFC 3550, 2198, 4588).
  static let rtpPacket = FuzzTarget("rtp-packet") { choices in
    let bytes = choices.all()
    let buffer = ByteBuffer(sliceOf: bytes)
    guard let packet = try? RTPPacket(parsing: buffer) else { return }
    let header = packet.header.payloadOffset
    try requireEqual(header + packet.payloadLength + packet.paddingLength, bytes.count)
    try requireEqual(packet.payload.array, Array(bytes[header...].prefix(packet.payloadLength)))
    try requireEqual(packet.contributingSources.count, packet.contributingSourceCount)
    try requireEqual(packet.detached().bytes.array, bytes)
    try requireEqual(packet.extensionData.readableBytes % 4, 0)

    if let inside = packet.primaryEncoding {
      try requireEqual(inside.sequenceNumber, packet.sequenceNumber)
      try requireEqual(inside.paddingLength, packet.paddingLength)
      try require(inside.payloadLength < packet.payloadLength, "RED has a header")
    }
    let repetition = packet.retransmission(
      payloadType: 99, ssrc: 7, sequenceNumber: SequenceNumber(9))
    let original = try RTPPacket(parsing: repetition)
      .original(payloadType: packet.payloadType, ssrc: packet.ssrc)
    try requireEqual(original?.payload, packet.payload)
    try requireEqual(original?.sequenceNumber, packet.sequenceNumber)
    try requireEqual(original?.marker, packet.marker)
    try requireEqual(original?.contributingSources, packet.contributingSources)
    try requireEqual(buffer.array, bytes, "the input has changed")
  }
}

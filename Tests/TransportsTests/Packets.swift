import NIOCore
import RTPWire

/// A whole RTP packet of payload type 96 with `payload` zero bytes.
func rtp(_ sequenceNumber: UInt16, ssrc: UInt32 = 1, payload: Int = 0) -> ByteBuffer {
  var bytes = ByteBuffer()
  bytes.writeInteger(0x8060, as: UInt16.self)
  bytes.writeInteger(sequenceNumber)
  bytes.writeInteger(90_000, as: UInt32.self)
  bytes.writeInteger(ssrc)
  bytes.writeRepeatingByte(UInt8(truncatingIfNeeded: sequenceNumber), count: payload)
  return bytes
}

/// An RTCP sender report without report blocks.
func senderReport(ssrc: UInt32 = 1) -> ByteBuffer {
  var bytes = ByteBuffer(bytes: [0x80, 200, 0, 6])
  bytes.writeInteger(ssrc)
  bytes.writeRepeatingByte(0, count: 20)
  return bytes
}

/// The endpoint of a literal address.
func endpoint(_ host: String, _ port: Int) -> SocketAddress {
  do { return try SocketAddress(ipAddress: host, port: port) } catch {
    preconditionFailure("\(host) is not an address")
  }
}

internal import NIOCore
internal import RTPWire

/// A possible RTP or RTCP packet in a recording, with its time and carrier.
struct CarriedPacket: Sendable, Hashable {
  enum Carrier: Sendable, Hashable {
    case udp(source: IPEndpoint, destination: IPEndpoint)
    /// In an RTSP connection.
    case interleaved(source: IPEndpoint, destination: IPEndpoint, channel: UInt8)
    /// In a file that contains only packets.
    case file(Datagram.Channel)
  }

  var bytes: ByteBuffer
  /// Nanoseconds, like ``Recording/time``, but never decreasing.
  var time: Int64
  var carrier: Carrier
  /// When it was recorded, as it is written in the file; `nil` where that says nothing of the order
  /// of packets.
  var recorded: Int64?
}

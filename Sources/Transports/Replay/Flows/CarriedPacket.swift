internal import NIOCore
internal import RTPWire

/// What a recording may hold of a stream: bytes that may be RTP or RTCP, when they came and on
/// what.
struct CarriedPacket: Sendable, Hashable {
  enum Carrier: Sendable, Hashable {
    case udp(source: IPEndpoint, destination: IPEndpoint)
    /// In a connection of RTSP.
    case interleaved(source: IPEndpoint, destination: IPEndpoint, channel: UInt8)
    /// In a file that holds packets and nothing else.
    case file(Datagram.Channel)
  }

  var bytes: ByteBuffer
  /// Nanoseconds, as ``Recording/time``; never less than that of the packet before.
  var time: Int64
  var carrier: Carrier
}

/// What became of the records of a file on their way to being packets of a stream.
struct DissectionStatistics: Sendable, Hashable {
  /// Records with packets in them.
  var packets: UInt64 = 0
  /// UDP datagrams, and packets in files without anything around them.
  var datagrams: UInt64 = 0
  /// Segments of TCP.
  var segments: UInt64 = 0
  /// Segments that were sent again.
  var retransmissions: UInt64 = 0
  /// Interleaved frames of RTSP.
  var frames: UInt64 = 0
  /// Holes in connections: segments that were not recorded.
  var holes: UInt64 = 0
  /// Packets of which not all was recorded (snap length).
  var cut: UInt64 = 0
  /// Fragments of IP, and those of packets that did not become whole.
  var fragments: UInt64 = 0
  var duplicateFragments: UInt64 = 0
  var overlappingFragments: UInt64 = 0
  var impossibleFragments: UInt64 = 0
  /// Link, IP, UDP or TCP headers that do not fit what follows.
  var malformed: UInt64 = 0
  /// IP packets of other protocols than UDP and TCP.
  var otherProtocols: UInt64 = 0
  /// What is no IP.
  var otherThanIP: UInt64 = 0
  /// On a kind of link that is not known here.
  var unsupportedLink: UInt64 = 0

  /// What there is, in words, for whoever looks for RTP in it.
  var summary: String {
    let parts = [
      (datagrams, "UDP"), (segments, "TCP"), (otherProtocols, "other protocols over IP"),
      (otherThanIP, "no IP"), (fragments, "fragments"), (cut, "recorded only in part"),
      (malformed, "malformed"), (unsupportedLink, "on a kind of link that is not known"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let detail = parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    return "\(packets) packet\(packets == 1 ? "" : "s")\(detail)"
  }

  /// What was left out though it may have belonged to a stream, a sentence each.
  var losses: [String] {
    [
      (cut, "packets were recorded only in part and were left out; record without a snap length"),
      (holes, "holes in TCP connections were skipped: segments that were not recorded"),
      (overlappingFragments, "overlapping fragments of IP, with their packets, were left out"),
      (malformed, "packets with headers that do not fit were left out"),
      (unsupportedLink, "packets on a kind of link that is not known were left out"),
    ].filter { $0.0 > 0 }.map { "warning: \($0.0) \($0.1)" }
  }
}

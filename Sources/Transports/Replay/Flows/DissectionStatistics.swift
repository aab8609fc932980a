/// What became of a file's records on their way to being packets of a stream.
struct DissectionStatistics: Sendable, Hashable {
  /// Records with packets in them.
  var packets: UInt64 = 0
  /// UDP datagrams, and packets in files without lower layers.
  var datagrams: UInt64 = 0
  /// TCP segments.
  var segments: UInt64 = 0
  /// Retransmitted segments.
  var retransmissions: UInt64 = 0
  /// Interleaved RTSP frames.
  var frames: UInt64 = 0
  /// Holes in connections: segments that were not recorded.
  var holes: UInt64 = 0
  /// Packets recorded only in part (snap length).
  var cut: UInt64 = 0
  /// IP fragments, and those of incomplete packets.
  var fragments: UInt64 = 0
  var duplicateFragments: UInt64 = 0
  var overlappingFragments: UInt64 = 0
  var impossibleFragments: UInt64 = 0
  /// Link, IP, UDP or TCP headers that do not fit their contents.
  var malformed: UInt64 = 0
  /// IP packets with protocols other than UDP and TCP.
  var otherProtocols: UInt64 = 0
  /// Frames with protocols other than IP.
  var otherThanIP: UInt64 = 0
  /// Frames of an unknown kind of link.
  var unsupportedLink: UInt64 = 0

  /// A summary for somebody who looks for RTP in it.
  var summary: String {
    let parts = [
      (datagrams, "UDP"), (segments, "TCP"), (otherProtocols, "other protocols over IP"),
      (otherThanIP, "not IP"), (fragments, "fragments"), (cut, "recorded only in part"),
      (malformed, "malformed"), (unsupportedLink, "on an unknown kind of link"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let detail = parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    return "\(packets) packet\(packets == 1 ? "" : "s")\(detail)"
  }

  /// What was left out though it may have belonged to a stream, a sentence each.
  var losses: [TransportDiagnostic] {
    [
      (cut, "packets were recorded only in part and were left out; record without a snap length"),
      (holes, "holes in TCP connections were skipped: segments that were not recorded"),
      (overlappingFragments, "overlapping fragments of IP, with their packets, were left out"),
      (malformed, "packets with headers that do not fit were left out"),
      (unsupportedLink, "packets on a kind of link that is not known were left out"),
    ].filter { $0.0 > 0 }.map { .warning("\($0.0) \($0.1)") }
  }
}

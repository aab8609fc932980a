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
  /// Packets of which the fragments do not belong together.
  var mixedFragments: UInt64 = 0
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

  /// Whether there was more than was recorded, so that what is missing may have come.
  var isIncomplete: Bool { cut > 0 || holes > 0 }

  /// What was left out though it may have belonged to a stream, a sentence each.
  var losses: [TransportDiagnostic] {
    [
      (cut, "packet", "left out: recorded only in part; record without a snap length"),
      (holes, "hole", "in TCP connections skipped: segments that were not recorded"),
      (overlappingFragments, "packet", "of IP left out: overlapping fragments"),
      (mixedFragments, "packet", "of IP left out: fragments that do not belong together"),
      (malformed, "packet", "left out: headers that do not fit"),
      (unsupportedLink, "packet", "left out: on a kind of link that is not known"),
    ].filter { $0.0 > 0 }.map { .warning("\($0.0.counted($0.1)) \($0.2)") }
  }
}

extension TransportHint {
  /// What is said where a sender reports on media that do not come.
  public static let reportsAlone =
    "only RTCP came, and no media: check to which port the sender sends, and the firewall"

  /// What is said of RTP of which no two packets were in sequence, which proves no source
  /// (RFC 3550 A.1).
  public static func unproven(_ count: UInt64) -> String {
    count == 1
      ? "1 packet came, too few to tell what it carries"
      : "\(count) packets came, no two of them in sequence; check what the sender sends"
  }

  /// The hints of every transport with UDP sockets.
  static let ofSockets: [TransportHint] = [
    TransportHint(.warning) { situation in
      let granted = situation.counters.receiveBuffer
      let wanted = situation.options.sockets.receiveBuffer
      guard granted > 0, granted < wanted else { return nil }
      return "the kernel grants a receive buffer of \(granted / 1024) KiB of the "
        + "\(wanted / 1024) KiB asked for, so bursts may be dropped; "
        + "try: sudo sysctl net.core.rmem_max=\(wanted)"
    },
    TransportHint(.warning) { situation in
      guard let other = situation.counters.otherSender, other.datagrams >= fewestOfSender,
        situation.received > 0
      else { return nil }
      return "\(leftOut(other)); media is taken from one sender at a time"
    },
    TransportHint(.news) { situation in
      let dropped = situation.counters.kernelDropped
      guard dropped > 0 else { return nil }
      return "the kernel dropped \(dropped.counted("datagram")): its buffer was full"
    },
    TransportHint(.notRTP) { situation in
      // RTP says that the others were strays.
      guard situation.counters.notRTP > 0, situation.received == 0 else { return nil }
      return situation.counters.diagnostics.first { $0.weight == .content }?.words
    },
    TransportHint(.refusal) { situation in
      let refused = situation.counters.refused
      guard refused > 0 else { return nil }
      return "the far end refused \(refused.counted("datagram")): is the server running there?"
    },
    TransportHint(.otherTraffic) { situation in
      let others = situation.counters.notRTP
      guard others > 0 else { return nil }
      return "\(others.counted("datagram")) came that are not RTP; check the port, and what the "
        + "sender sends"
    },
    TransportHint(.otherTraffic) { situation in
      let unproven = situation.counters.unproven
      guard unproven > 0, situation.received == 0 else { return nil }
      return Self.unproven(unproven)
    },
    TransportHint(.otherTraffic) { situation in
      guard situation.counters.reportsAlone > 0, situation.received == 0 else { return nil }
      return reportsAlone
    },
    TransportHint(.otherTraffic) { situation in
      let foreign = situation.counters.foreignOrigin
      guard foreign > 0 else { return nil }
      return "\(foreign.counted("datagram")) came from other addresses than \(situation.source)"
        + (situation.counters.otherSender.map { ", the last from \($0.address)" } ?? "")
    },
    TransportHint(.otherSender) { situation in
      guard let other = situation.counters.otherSender, other.outlastsMedia,
        other.datagrams >= fewestOfSender
      else { return nil }
      return leftOut(other)
    },
    TransportHint(.silence) { situation in
      let sockets = situation.options.sockets
      guard sockets.interface == nil, sockets.bind?.host == nil,
        let local = situation.counters.localAddress,
        let address = try? SourceAddress(parsing: local), address.isGroup, let group = address.host
      else { return nil }
      return "nothing came to the group \(group): name the network interface by which it comes "
        + "with --interface, and check the firewall"
    },
  ]

  /// Fewer datagrams of another sender may be strays.
  private static let fewestOfSender: UInt64 = 10

  private static func leftOut(_ other: TransportCounters.OtherSender) -> String {
    "\(other.datagrams.counted("datagram")) came from another sender, \(other.address), and "
      + (other.datagrams == 1 ? "was" : "were") + " left out"
  }

  /// The hints of connections that bring the media, to URLs with one of `schemes`.
  static func ofConnections(_ schemes: [String]) -> [TransportHint] {
    [
      TransportHint(.silence) { situation in
        guard let scheme = SourceAddress.scheme(of: situation.source), schemes.contains(scheme)
        else { return nil }
        return "nothing came through the connection: check that something is being sent there"
      }
    ]
  }
}

/// What ended a stream of packets behind their lengths; each description says what to try.
public enum FramedError: Error, Sendable, Hashable {
  /// What comes first is no RTP packet behind its length.
  case notPackets(PacketFraming)
  /// What comes is a page for a browser.
  case webPage
  /// What comes is a capture file.
  case capture
  /// A length of more bytes than a packet may have.
  case framingLost(length: Int, limit: Int)
  /// No connection within the deadline, in seconds.
  case connectTimedOut(seconds: Int)
  /// No packet came whole within so many seconds of the connection.
  case noMedia(seconds: Int)
  /// The stream flowed, and then no packet of it came whole for so many seconds.
  case mediaStopped(seconds: Int)
  /// The stream ended before its first packet.
  case empty
  /// The stream ended in the middle of a packet.
  case endedInPacket
  /// The connection broke.
  case connectionClosed
  /// Standard input is a terminal, or something else that no packets come from.
  case noInput
}

extension FramedError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notPackets(let framing):
      let other = framing == .rtp4 ? PacketFraming.rfc4571 : .rtp4
      return "what comes are no RTP packets, each behind its length in "
        + "\(framing.prefixLength) bytes; try --framing \(other.rawValue)"
    case .webPage:
      return "what comes is a web page; this is the URL for a browser, look for that of the stream"
    case .capture:
      return "what comes is a capture; pipe it in, as in: nc HOST PORT | rtp-recv -"
    case .framingLost(let length, let limit):
      return "a packet of \(length) bytes was announced, more than \(limit): "
        + "the lengths no longer stand where they should; the sender is faulty"
    case .connectTimedOut(let seconds):
      return "no connection within \(seconds) s; check the address and the port, "
        + "and whether a firewall stands between"
    case .noMedia(let seconds):
      return "the server took the connection, but no packet came within \(seconds) s; "
        + "check that something is being sent there"
    case .mediaStopped(let seconds):
      return "nothing of the stream came for \(seconds) s; the server or the network is gone"
    case .empty:
      return "the stream ended before its first packet; check that something is being sent"
    case .endedInPacket:
      return "the stream ended in the middle of a packet; the sender was stopped, or is faulty"
    case .connectionClosed:
      return "the connection broke; the server or the network is gone"
    case .noInput:
      return "no packets can come from standard input; pipe them into it, as in: "
        + "curl http://host/stream | rtp-recv -"
    }
  }
}

extension FramedError {
  init(_ fault: FramedDelivery.Fault, in framing: PacketFraming) {
    switch fault {
    case .notPackets: self = .notPackets(framing)
    case .webPage: self = .webPage
    case .capture: self = .capture
    case .lost(let length, let limit): self = .framingLost(length: length, limit: limit)
    }
  }
}

extension FramedError: TransportFault {
  public var fault: ConnectionFault {
    switch self {
    case .notPackets, .webPage, .capture, .noInput: .permanent
    case .framingLost, .connectTimedOut, .noMedia, .mediaStopped, .empty, .endedInPacket,
      .connectionClosed:
      .transient
    }
  }

  public var outcome: TransportOutcome? {
    switch self {
    case .notPackets, .webPage, .capture: .unrecognized
    case .noMedia, .empty: .noMedia
    case .mediaStopped: .mediaLost
    case .framingLost, .connectTimedOut, .endedInPacket, .connectionClosed, .noInput: nil
    }
  }
}

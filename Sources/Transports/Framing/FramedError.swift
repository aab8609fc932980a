/// Why a stream of length-prefixed packets ended; each description says what to try.
public enum FramedError: Error, Sendable, Hashable {
  /// The stream does not begin with a length and an RTP packet.
  case notPackets(PacketFraming)
  /// The stream is a page for a browser.
  case webPage
  /// The stream is a capture file.
  case capture
  /// The stream is something else that is known.
  case foreign(ForeignContent)
  /// A length above the limit for a packet.
  case framingLost(length: Int, limit: Int)
  /// No connection within the deadline, in seconds.
  case connectTimedOut(seconds: Int)
  /// No whole packet came within this many seconds of the connection.
  case noMedia(seconds: Int)
  /// Packets came, and then no whole packet for this many seconds.
  case mediaStopped(seconds: Int)
  /// The stream ended before its first packet.
  case empty
  /// The stream ended in the middle of a packet.
  case endedInPacket
  /// The connection broke.
  case connectionClosed
  /// Standard input is a terminal, or something else without packets.
  case noInput
}

extension FramedError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notPackets(let framing):
      let other = framing == .rtp4 ? PacketFraming.rfc4571 : .rtp4
      return
        "the stream has no RTP packets with a \(framing.prefixLength)-byte length before each; "
        + "try --framing \(other.rawValue)"
    case .webPage:
      return "the stream is a web page; this URL is for a browser, look for the stream's own"
    case .capture:
      return "the stream is a capture; pipe it in, as in: nc HOST PORT | rtp-recv -"
    case .foreign(let content): return "\(content)"
    case .framingLost(let length, let limit):
      return "the sender announced a packet of \(length) bytes, more than \(limit); it is faulty"
    case .connectTimedOut(let seconds):
      return "no connection within \(seconds) s; check the address and the port, "
        + "and whether a firewall blocks them"
    case .noMedia(let seconds):
      return "the server accepted the connection, but no packet came within \(seconds) s; "
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
      return "standard input has no packets; pipe them in, as in: "
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
    case .foreign(let content): self = .foreign(content)
    case .lost(let length, let limit): self = .framingLost(length: length, limit: limit)
    }
  }
}

extension FramedError: TransportFault {
  public var fault: ConnectionFault {
    switch self {
    case .notPackets, .webPage, .capture, .foreign, .noInput: .permanent
    case .framingLost, .connectTimedOut, .noMedia, .mediaStopped, .empty, .endedInPacket,
      .connectionClosed:
      .transient
    }
  }

  public var outcome: TransportOutcome? {
    switch self {
    case .notPackets, .webPage, .capture, .foreign: .unrecognized
    case .noMedia, .empty: .noMedia
    case .mediaStopped: .mediaLost
    case .framingLost, .connectTimedOut, .endedInPacket, .connectionClosed, .noInput: nil
    }
  }
}

internal import NIOCore
internal import RTPWire

/// An RTSP session as a value (RFC 2326 appendix A): what happened and `now` go in, actions come out.
///
/// The shell that owns the sockets executes the actions in order and tells of what came of them.
/// The session reads no clock, opens nothing, and knows no thread; every wait in it ends by
/// ``deadline``.
struct RTSPSession: Sendable {
  /// What the shell is to do.
  enum Action: Sendable, Hashable {
    /// Open a connection to the server of `url`, closing any that is open: at the start, after a
    /// redirect, and when a server closes it before all is said. ``connectionOpened(at:)`` or
    /// ``connectionFailed(at:)`` follows.
    case connect(RTSPURL)
    case send(ByteBuffer)
    /// What the server says about its media; once, before any packet.
    case describe(SessionDescription)
    /// Open sockets for a stream; ``portsOpened(_:forMedia:at:)`` follows.
    case openPorts(media: Int, Ports)
    /// The server's addresses for a stream over UDP are known: pin them, and punch a hole for them.
    case expectMedia(media: Int, from: ServerPorts)
    /// Nothing comes over UDP: close the sockets; the stream will be set up again in the connection.
    case closePorts
    /// The session is over; nothing follows.
    case end(End)
  }

  /// Sockets to open.
  enum Ports: Sendable, Hashable {
    /// An even port and the odd one above it, chosen by the kernel (RFC 3550 §11).
    case pair
    case multicast(group: String, port: Int, timeToLive: UInt8?, sources: [String])
  }

  /// Where the server sends a stream from.
  struct ServerPorts: Sendable, Hashable {
    /// `nil` stands for the host of the connection.
    var host: String?
    /// 0 when the server does not say.
    var media: Int
    var control: Int
  }

  /// How a session came to its end.
  enum End: Sendable, Hashable {
    /// The server ended it, or TEARDOWN was answered or its second is over.
    case finished
    case failed(RTSPError)
  }

  /// What is to become of an interleaved frame.
  enum Route: Sendable, Hashable {
    case deliver(Datagram.Channel)
    /// Of a stream that is set up only because its device wants it so.
    case unwanted
    /// On a channel that no stream has.
    case unassigned
  }
}

internal import RTPWire

/// The vocabulary between a session and its shell.
extension RTSPSession {
  /// What the shell must do.
  enum Action: Sendable, Hashable {
    /// Open a connection to the server of `url`, after closing an open one once everything written
    /// to it has been sent, and a tunnel in it if there are requests for one. This happens at the
    /// start, after a redirect, and when set-up begins anew.
    /// ``connectionReached(isInside:)`` follows before any request is written, and then
    /// ``connectionOpened(at:)``, ``connectionFailed(at:)`` or ``tunnelChallenged(_:at:)``; nothing
    /// more may be reported of the old connection.
    case connect(ServerURL, through: HTTPTunnelRequests? = nil)
    /// Write a request; its headers are complete except for Content-Length.
    case request(RTSPRequest)
    /// Write an answer to a request of the server.
    case respond(RTSPResponse)
    /// The server's description of its media; once, before any packet. `selected` is the index of
    /// the stream that must not fail; it is `nil` only when nothing will be played and there is no
    /// such stream. `tracks` are the indices of all streams to deliver, in the description's order.
    case describe(SessionDescription, selected: Int?, tracks: [Int])
    /// Open sockets for a stream; ``portsOpened(_:forMedia:at:)`` or
    /// ``portsFailed(forMedia:at:)`` follows.
    case openPorts(media: Int, Ports)
    /// The server's ports for a stream over UDP are known: accept them on the host of the
    /// connection, and open a NAT for them. Another host named by the server is never used.
    case expectMedia(media: Int, from: ServerPorts)
    /// Nothing comes over UDP, or the server prefers the connection: close all media sockets.
    case closePorts
    /// PLAY is answered.
    case playing
    /// A deviation that was tolerated; each comes once.
    case report(RTSPDiagnostic)
    /// The session is over; nothing follows. Close everything once all that was written is sent.
    case end(End)
  }

  /// Sockets to open.
  enum Ports: Sendable, Hashable {
    /// An even port and the odd one above it, chosen by the kernel (RFC 3550 §11).
    case pair
    case multicast(group: String, port: Int, sources: [String])
  }

  /// The local ports of a stream over UDP.
  struct ClientPorts: Sendable, Hashable {
    var media: Int
    var control: Int
  }

  /// Where the server sends a stream from, 1 … 65535; `nil` when it does not say.
  struct ServerPorts: Sendable, Hashable {
    var media: Int?
    var control: Int?
  }

  /// How a session came to its end.
  enum End: Sendable, Hashable {
    /// The server ended it, TEARDOWN was answered or timed out, or only a description was wanted
    /// and has come.
    case finished
    /// No connection, or no sockets for the media; the shell knows why.
    case notConnected
    case failed(RTSPError)
  }

  /// Where an interleaved frame goes.
  enum Route: Sendable, Hashable {
    case deliver(Datagram.Channel, track: Int = 0)
    /// It belongs to a stream that is set up only because its device demands it.
    case unwanted
    /// It is on a channel of no stream.
    case unassigned
  }

  /// The purpose of a session.
  enum Purpose: Sendable, Hashable {
    case play
    /// Only the description; the session ends after it.
    case describe
  }
}

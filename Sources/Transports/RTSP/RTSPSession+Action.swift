internal import RTPWire

/// What a session and its shell have to say to each other.
extension RTSPSession {
  /// What the shell is to do.
  enum Action: Sendable, Hashable {
    /// Open a connection to the server of `url`, closing any that is open after what was written
    /// to it has gone: at the start, after a redirect, and when a server closes it before all is
    /// said. ``connectionOpened(at:)`` or ``connectionFailed(at:)`` follows; of the old connection
    /// nothing more may be told.
    case connect(ServerURL)
    /// Write a request; its headers are complete except for Content-Length.
    case request(RTSPRequest)
    /// Write an answer to a request of the server.
    case respond(RTSPResponse)
    /// What the server says about its media; once, before any packet. `selected` is the index of what
    /// must not fail; `nil` only when nothing is to be played, and there is no such stream. `tracks` are
    /// the indices of all that is to be delivered, in the order of the description.
    case describe(SessionDescription, selected: Int?, tracks: [Int])
    /// Open sockets for a stream; ``portsOpened(_:forMedia:at:)`` or
    /// ``portsFailed(forMedia:at:)`` follows.
    case openPorts(media: Int, Ports)
    /// The server's ports for a stream over UDP are known: pin them on the host of the connection,
    /// and punch a hole for them. Whatever host the server names instead is never used.
    case expectMedia(media: Int, from: ServerPorts)
    /// Nothing comes over UDP, or the server prefers the connection: close all media sockets.
    case closePorts
    /// PLAY is answered. The position is what the server claims its first packet to be: a hint.
    case playing(StreamPosition?)
    /// PAUSE is answered.
    case paused
    /// A deviation that was tolerated; each comes once.
    case report(RTSPDiagnostic)
    /// The session is over; nothing follows. Close everything after what was written has gone.
    case end(End)
  }

  /// Sockets to open.
  enum Ports: Sendable, Hashable {
    /// An even port and the odd one above it, chosen by the kernel (RFC 3550 §11).
    case pair
    case multicast(group: String, port: Int, timeToLive: UInt8?, sources: [String])
  }

  /// The local ports of a stream over UDP.
  struct ClientPorts: Sendable, Hashable {
    var media: Int
    var control: Int
  }

  /// Where the server sends a stream from; 0 when it does not say.
  struct ServerPorts: Sendable, Hashable {
    var media: Int
    var control: Int
  }

  /// What RTP-Info says about the first packet of the selected stream (RFC 2326 §12.33).
  struct StreamPosition: Sendable, Hashable {
    var sequenceNumber: UInt16?
    var timestamp: UInt32?
  }

  /// How a session came to its end.
  enum End: Sendable, Hashable {
    /// The server ended it, TEARDOWN was answered or its second is over, or all that was asked for
    /// is described.
    case finished
    /// No connection, or no sockets for the media; the shell knows why.
    case notConnected
    case failed(RTSPError)
  }

  /// What is to become of an interleaved frame.
  enum Route: Sendable, Hashable {
    case deliver(Datagram.Channel, track: Int = 0)
    /// Of a stream that is set up only because its device wants it so.
    case unwanted
    /// On a channel that no stream has.
    case unassigned
  }

  /// What a session is for.
  enum Purpose: Sendable, Hashable {
    case play
    /// Ends after the description.
    case describe
  }
}

/// A protocol violation by a server that was tolerated.
public enum RTSPDiagnostic: Sendable, Hashable {
  /// The password went over an unencrypted connection in a form that anybody on the path can read.
  case basicWithoutEncryption
  /// OPTIONS was refused with this status.
  case optionsRefused(status: Int)
  /// The server closed the connection during set-up, and a new one was opened.
  case reconnected
  /// The server redirected this client to another address.
  case redirected(to: String)
  /// A response without CSeq, or with that of another request.
  case wrongSequence
  /// A response that answers no request.
  case unexpectedResponse
  /// The session's identifier changed; the latest counts, or the first where the server does not
  /// know the latest.
  case sessionIdentifierChanged
  /// A response to SETUP without a session's identifier.
  case sessionIdentifierMissing
  /// The control URL was refused in its usual form, and accepted in another.
  case controlURLRewritten
  /// The server uses other interleaved channels than requested.
  case otherChannels(asked: UInt8, given: UInt8)
  /// The Transport of a response to SETUP is missing or incomplete.
  case transportIncomplete
  /// The server chose another protocol than requested, which was accepted.
  case otherDelivery
  /// The server cannot send over UDP, so the stream comes in the connection.
  case udpRefused
  /// Nothing came over UDP, so the stream comes in the connection.
  case udpSilent
  /// No local ports could be opened for UDP, so the stream comes in the connection.
  case portsUnavailable
  /// Another stream than the selected one was refused with this status, or could not be set up.
  case streamLeftOut(media: Int, status: Int?)
  /// Another stream than the selected one has no URL in the description (`a=control`), so it cannot
  /// be set up.
  case streamWithoutURL(media: Int)
  /// The server refused this method as a keep-alive.
  case keepAliveRefused(method: String)
  /// The server closed the connection just after a keep-alive of this method, without an answer.
  case closedUponKeepAlive(method: String)
  /// The server refused a keep-alive in HTTP behind RTCP, of which none is sent any more.
  case feedbackMisread
  /// Data came on a channel of no stream.
  case unassignedChannel(UInt8)
}

extension RTSPDiagnostic {
  /// Whether everybody is to know it, or only who looks after the server.
  var weight: TransportDiagnostic.Weight { self == .basicWithoutEncryption ? .warning : .remark }
}

extension RTSPDiagnostic: CustomStringConvertible {
  public var description: String {
    switch self {
    case .basicWithoutEncryption:
      return "the password was sent unencrypted (Basic authentication); "
        + "switch the server to digest authentication, or use rtsps://"
    case .optionsRefused(let status): return "OPTIONS was refused with \(status)"
    case .reconnected: return "the server closed the connection during set-up"
    case .redirected(let address): return "redirected to \(ServerURL.withoutUser(address))"
    case .wrongSequence: return "a response had no CSeq, or a wrong one"
    case .unexpectedResponse: return "a response answered no request"
    case .sessionIdentifierChanged: return "the session's identifier changed"
    case .sessionIdentifierMissing: return "the server gave the session no identifier"
    case .controlURLRewritten: return "the control URL was accepted only in an unusual form"
    case .otherChannels(let asked, let given):
      return "the server uses channel \(given) instead of \(asked)"
    case .transportIncomplete: return "the server did not say how it carries the stream"
    case .otherDelivery: return "the server carries the stream in another way than requested"
    case .udpRefused: return "the server does not send over UDP; the stream comes over TCP"
    case .udpSilent:
      return "nothing came over UDP (a firewall may block it); the stream comes over TCP"
    case .portsUnavailable: return "no UDP ports could be opened; the stream comes over TCP"
    case .streamLeftOut(let media, let status):
      let answer = status.map { " (the server answered SETUP with \($0))" } ?? ""
      return "stream \(media) could not be set up\(answer); the others play without it"
    case .streamWithoutURL(let media):
      return
        "the description has no URL for stream \(media) (a=control); the others play without it"
    case .keepAliveRefused(let method): return "\(method) was refused as a keep-alive"
    case .closedUponKeepAlive(let method):
      return "the server closed the connection upon the keep-alive \(method); "
        + "the next connection does without it"
    case .feedbackMisread:
      return "a keep-alive in HTTP was refused, perhaps because of the reports before it; "
        + "no more are sent"
    case .unassignedChannel(let channel): return "data came on channel \(channel), which is unknown"
    }
  }
}

/// What ended an RTSP session, or kept it from beginning; each description says what to try.
public enum RTSPError: Error, Sendable, Hashable {
  /// The server wants a user name and a password, and there are none.
  case credentialsMissing(realm: String)
  /// The server refuses the user name and password.
  case credentialsRefused(realm: String)
  /// The server that a redirect led to wants credentials; those that there are belong to another.
  case credentialsNotForwarded(to: String)
  /// The server names no kind of authentication that is known here, or none that is safe now.
  case authenticationUnsupported(schemes: [String])
  /// A request was refused with this status.
  case refused(method: String, status: Int, reason: String)
  /// No connection within the deadline, in seconds.
  case connectTimedOut(seconds: Int)
  /// No response within the deadline, in seconds.
  case noResponse(method: String, seconds: Int)
  /// Nothing of the stream came within so many seconds of its start.
  case noMedia(seconds: Int)
  /// The stream flowed, and then nothing of it came for so many seconds.
  case mediaStopped(seconds: Int)
  case redirectedTooOften(limit: Int)
  /// A redirect to where it must not be followed.
  case redirectRefused(to: String)
  /// What comes through the connection is not RTSP, or ceased to be.
  case framingLost(skipped: Int)
  /// A packet or a message began and did not come to its end within so many seconds.
  case stalled(in: String, seconds: Int)
  /// A message exceeds a limit.
  case messageTooLarge(what: String, limit: Int)
  /// The connection closed in the middle of a session.
  case connectionClosed
  case sessionDescription(SessionDescriptionError)
  /// DESCRIBE was answered with success and nothing else.
  case emptyDescription
  /// The server describes no video, or no stream of the number that was asked for.
  case noSuchStream(RTSPConfiguration.Selection)
  /// The stream is encrypted or packed in a way that is not known here, such as RTP/SAVP.
  case unsupportedProfile(String)
  /// The server carries the stream in none of the ways that were allowed.
  case deliveryRefused
}

extension RTSPError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .credentialsMissing(let realm):
      return "the server wants a user name and a password for ‘\(realm.printable)’; "
        + "give them with --user and --password-file, or in the URL"
    case .credentialsRefused(let realm):
      return "the server refuses the user name or the password for ‘\(realm.printable)’; "
        + "check both, and wait a while, because many cameras lock an account after a few attempts"
    case .credentialsNotForwarded(let address):
      return "the server redirects to \(ServerURL.withoutUser(address)), which wants a password; "
        + "it is sent to no address but the one it was given for: use the new address itself"
    case .authenticationUnsupported(let schemes) where schemes.isEmpty:
      return "the server refuses access and does not say how to log in; "
        + "check its settings for RTSP authentication"
    case .authenticationUnsupported(let schemes):
      let names = schemes.prefix(8).joined(separator: ", ").printable
      return "the server offers no way of logging in that can be used now (\(names)); "
        + "switch it to digest authentication"
    case .refused(let method, let status, let reason):
      return Self.refusal(method: method, status: status, reason: reason)
    case .connectTimedOut(let seconds):
      return "no connection within \(seconds) s; check the address and the port, "
        + "and whether a firewall stands between"
    case .noResponse(let method, let seconds):
      return "the server did not answer \(method) within \(seconds) s; "
        + "check that it speaks RTSP on this port, or restart it"
    case .noMedia(let seconds):
      return "the server plays the stream, but nothing of it came within \(seconds) s; "
        + "try --rtsp-transport tcp, or another stream of the device"
    case .mediaStopped(let seconds):
      return "nothing of the stream came for \(seconds) s; the device or the network is gone"
    case .redirectedTooOften(let limit):
      return "the server redirects in a circle, or more than \(limit) times; "
        + "use the address of the stream itself"
    case .redirectRefused(let address):
      return "the server redirects to ‘\(ServerURL.withoutUser(address))’, which is not followed "
        + "from here; if that is right, use it as the source"
    case .framingLost(let skipped):
      return "what the server sends is not RTSP (\(skipped) bytes skipped); "
        + "check the port, and whether it wants rtsps://"
    case .stalled(let part, let seconds):
      return "the server stopped in the middle of a \(part) for \(seconds) s; "
        + "the network or the server is overloaded, or it is not an RTSP server"
    case .messageTooLarge(let what, let limit):
      return
        "the server sent \(what.printable) of more than \(limit) bytes; it is faulty or hostile"
    case .connectionClosed:
      return "the server closed the connection; it may have restarted, serve too many already, or "
        + "want rtsps://"
    case .sessionDescription(let error):
      return "the server's description of the stream can not be used: \(error)"
    case .emptyDescription:
      return "the server describes no streams at this address; check the path in the URL"
    case .noSuchStream(.everything), .noSuchStream(.firstVideo):
      return "the server describes no video; --list shows what there is"
    case .noSuchStream(.number(let number)):
      return "the server describes no stream \(number); --list shows what there is"
    case .unsupportedProfile(let profile):
      return "the stream is carried as ‘\(profile.printable)’, which can not be received; "
        + "switch encryption of the media off, or use rtsps://"
    case .deliveryRefused:
      return "the server carries the stream in none of the allowed ways; "
        + "try another --rtsp-transport"
    }
  }

  private static func refusal(method: String, status: Int, reason: String) -> String {
    let words = reason.printable
    let answer = "the server answered \(method) with \(status)" + (words.isEmpty ? "" : " \(words)")
    switch status {
    case 400, 451: return "\(answer); check the URL"
    case 403, 407: return "\(answer); this user, or this network, is not allowed in"
    case 404, 410: return "\(answer); check the path in the URL"
    case 453, 503: return "\(answer); it may serve too many already, try again later"
    case 500...599: return "\(answer); try again, or restart it"
    default: return answer
    }
  }
}

extension RTSPError: TransportFault {
  public var fault: ConnectionFault {
    switch self {
    case .credentialsMissing, .credentialsNotForwarded, .authenticationUnsupported,
      .redirectedTooOften, .redirectRefused, .noSuchStream(.number), .unsupportedProfile,
      .deliveryRefused:
      .permanent
    // A server that forbids (RFC 2326 §11.3.4) does not want to be asked again soon.
    case .credentialsRefused, .refused(_, 403, _): .login
    // A camera that starts up knows no path and describes no video for a while.
    case .refused, .connectTimedOut, .noResponse, .noMedia, .mediaStopped, .framingLost, .stalled,
      .messageTooLarge, .connectionClosed, .sessionDescription, .emptyDescription,
      .noSuchStream(.everything), .noSuchStream(.firstVideo):
      .transient
    }
  }

  public var asksForLogin: Bool { if case .credentialsMissing = self { true } else { false } }

  public var outcome: TransportOutcome? {
    switch self {
    case .credentialsMissing, .credentialsRefused, .credentialsNotForwarded,
      .authenticationUnsupported, .refused(_, 403, _):
      .credentials
    case .redirectedTooOften, .redirectRefused: .redirectRefused
    case .noSuchStream, .emptyDescription, .refused(_, 404, _): .noSuchStream
    case .noMedia: .noMedia
    case .mediaStopped: .mediaLost
    case .refused, .connectTimedOut, .noResponse, .framingLost, .stalled, .messageTooLarge,
      .connectionClosed, .sessionDescription, .unsupportedProfile, .deliveryRefused:
      nil
    }
  }
}

/// Why an RTSP session ended or could not begin; each description says what to try.
public enum RTSPError: Error, Sendable, Hashable {
  /// The server wants a user name and a password, but none were given.
  case credentialsMissing(realm: String)
  /// The server refuses the user name and password.
  case credentialsRefused(realm: String)
  /// A redirect led to a server that wants credentials, but those given belong to another server.
  case credentialsNotForwarded(to: String)
  /// The server offers no authentication that is supported, or none that is safe now.
  case authenticationUnsupported(schemes: [String])
  /// A request was refused with this status.
  case refused(method: String, status: Int, reason: String)
  /// No connection within the deadline, in seconds.
  case connectTimedOut(seconds: Int)
  /// No response within the deadline, in seconds.
  case noResponse(method: String, seconds: Int)
  /// No packet came within this many seconds of the stream's start, over UDP or in the connection.
  case noMedia(seconds: Int, isOverUDP: Bool)
  /// Packets came, and then none for this many seconds.
  case mediaStopped(seconds: Int)
  case redirectedTooOften(limit: Int)
  /// A redirect to an address where it must not be followed.
  case redirectRefused(to: String)
  /// The bytes of the connection are not RTSP, or no longer are.
  case framingLost(skipped: Int)
  /// A packet or a message began and was not complete within this many seconds.
  case stalled(in: String, seconds: Int)
  /// A message exceeds a limit.
  case messageTooLarge(what: String, limit: Int)
  /// A message whose Content-Length is no length.
  case invalidLength(String)
  /// The server closed the connection before it played anything.
  case connectionClosed
  /// The server closed the connection while it played.
  case brokenOff
  case sessionDescription(SessionDescriptionError)
  /// On another connection of the session, the server describes other streams, or has other keys.
  case otherStreams
  /// DESCRIBE succeeded, but the answer had no description.
  case emptyDescription
  /// The server describes no video.
  case noVideo
  /// The server describes no stream of the chosen number.
  case noSuchStream(number: Int)
  /// The server describes neither video nor sound of a known coding, where either would do.
  case noKnownMedia
  /// The stream is encrypted or packed in an unsupported way, such as RTP/SAVP.
  case unsupportedProfile(String)
  /// The server supports none of the allowed ways of carrying the stream.
  case deliveryRefused
  /// What answers HTTP there carries no RTSP in it.
  case notTunnelled
}

extension RTSPError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .credentialsMissing(let realm):
      return "the server wants a user name and a password for '\(realm.printable)'"
    case .credentialsRefused(let realm):
      return "the server refuses the user name or the password for '\(realm.printable)'; "
        + "check both, and wait a while, because many cameras lock an account after a few attempts"
    case .credentialsNotForwarded(let address):
      return "the server redirects to \(ServerURL.withoutUser(address)), which wants a password; "
        + "a password goes only to the address it was given for, so use the new address itself"
    case .authenticationUnsupported(let schemes) where schemes.isEmpty:
      return "the server refuses access and does not say how to log in; "
        + "check its settings for RTSP authentication"
    case .authenticationUnsupported(let schemes):
      let names = schemes.prefix(8).joined(separator: ", ").printable
      return "the server offers no login that can be used (\(names)); "
        + "switch it to digest authentication"
    case .refused(let method, let status, let reason):
      return Self.refusal(method: method, status: status, reason: reason)
    case .connectTimedOut(let seconds):
      return "no connection within \(seconds) s; check the address and the port, "
        + "and whether a firewall blocks them"
    case .noResponse(let method, let seconds):
      return "the server did not answer \(method) within \(seconds) s; "
        + "check that it speaks RTSP on this port, or restart it"
    case .noMedia(let seconds, let isOverUDP):
      return "the server plays the stream, but no packet came within \(seconds) s; "
        + (isOverUDP
          ? "try --rtsp-transport tcp, or another stream of the device"
          : "try another stream of the device, or restart it")
    case .mediaStopped(let seconds):
      return "nothing of the stream came for \(seconds) s; the device or the network is gone"
    case .redirectedTooOften(let limit):
      return "the server redirects in a circle, or more than \(limit) times; "
        + "use the address of the stream itself"
    case .redirectRefused(let address):
      return "the server redirects to '\(ServerURL.withoutUser(address))', which is not followed "
        + "from here; if that address is right, use it as the source"
    case .framingLost(let skipped):
      let count = skipped > 0 ? " (\(skipped.counted("byte")) skipped)" : ""
      return "the server does not send RTSP\(count); "
        + "check the port, and whether it wants rtsps://"
    case .stalled(let part, let seconds):
      return "the server stopped in the middle of a \(part) for \(seconds) s; "
        + "the network or the server is overloaded, or it is not an RTSP server"
    case .messageTooLarge(let what, let limit):
      return
        "the server sent \(what.printable) of more than \(limit) bytes; it is faulty or hostile"
    case .invalidLength(let text):
      return "the server sent a message of the length '\(text.printable)'; it is faulty or hostile"
    case .connectionClosed:
      return "the server closed the connection; it may have restarted, have too many clients, or "
        + "want rtsps://"
    case .brokenOff:
      return "the server closed the connection in the middle of the stream; it may have restarted"
    case .sessionDescription(let error):
      return "the server's description of the stream cannot be used: \(error)"
    case .otherStreams:
      return "the server describes other streams, or has other keys, than it had before it was "
        + "connected to again; start anew"
    case .emptyDescription:
      return "the server describes no streams at this address; check the path in the URL"
    case .noVideo:
      return "the server describes no video"
    case .noSuchStream(let number):
      return "the server describes no stream \(number)"
    case .noKnownMedia:
      return "the server describes no video, and no sound whose coding is known here"
    case .unsupportedProfile(let profile) where profile.uppercased().hasPrefix("MP2T"):
      return "the stream is MPEG-TS, which cannot be received; have the server put each stream "
        + "into RTP by itself"
    case .unsupportedProfile(let profile):
      return "the stream is carried as '\(profile.printable)', which cannot be received; "
        + "switch encryption of the media off, or use rtsps://"
    case .deliveryRefused:
      return "the server supports none of the allowed transports; try another --rtsp-transport"
    case .notTunnelled:
      return "the server does not carry RTSP in HTTP on this port; check the port, or leave out "
        + "--rtsp-transport http"
    }
  }

  private static func refusal(method: String, status: Int, reason: String) -> String {
    let words = reason.printable
    let answer = "the server answered \(method) with \(status)" + (words.isEmpty ? "" : " \(words)")
    switch status {
    case 400, 451: return "\(answer); check the URL"
    case 403, 407: return "\(answer); this user, or this network, is not allowed in"
    case 404, 410: return "\(answer); check the path in the URL"
    case 463:
      // Key management failure (RFC 4567): Axis cameras want the keys of SRTP in SETUP.
      return "\(answer); switch SRTP off in the camera, and use rtsps://, which encrypts all of it"
    case 453, 503: return "\(answer); it may have too many clients, try again later"
    case 500...599: return "\(answer); try again, or restart it"
    default: return answer
    }
  }
}

extension RTSPError: TransportFault {
  public var fault: ConnectionFault {
    switch self {
    case .credentialsMissing, .credentialsNotForwarded, .authenticationUnsupported,
      .redirectedTooOften, .redirectRefused, .noSuchStream, .unsupportedProfile,
      .deliveryRefused, .notTunnelled:
      .permanent
    // A server that answers 403 (RFC 2326 §7.1.1), or 407 for a proxy, does not want another
    // request soon.
    case .credentialsRefused, .refused(_, 403, _), .refused(_, 407, _): .login
    // A camera that is starting may not know its paths or describe its video for a while.
    case .refused, .connectTimedOut, .noResponse, .noMedia, .mediaStopped, .framingLost, .stalled,
      .messageTooLarge, .invalidLength, .connectionClosed, .brokenOff, .sessionDescription,
      .otherStreams, .emptyDescription, .noVideo, .noKnownMedia:
      .transient
    }
  }

  public var advice: TransportAdvice? {
    switch self {
    case .credentialsMissing: .login
    case .noVideo, .noSuchStream, .noKnownMedia: .streams
    case .refused(_, 404, _): .paths
    default: nil
    }
  }

  public var outcome: TransportOutcome? {
    switch self {
    case .credentialsMissing, .credentialsRefused, .credentialsNotForwarded,
      .authenticationUnsupported, .refused(_, 403, _), .refused(_, 407, _):
      .credentials
    case .redirectedTooOften, .redirectRefused: .redirectRefused
    case .noSuchStream, .noVideo, .noKnownMedia, .emptyDescription, .refused(_, 404, _),
      .refused(_, 410, _):
      .noSuchStream
    case .noMedia: .noMedia
    case .mediaStopped: .mediaLost
    case .refused, .connectTimedOut, .noResponse, .framingLost, .stalled, .messageTooLarge,
      .invalidLength, .connectionClosed, .brokenOff, .sessionDescription, .otherStreams,
      .unsupportedProfile, .deliveryRefused, .notTunnelled:
      nil
    }
  }
}

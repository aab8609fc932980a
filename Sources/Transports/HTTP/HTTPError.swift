/// Why an HTTP stream ended or could not begin; each description says what to try.
public enum HTTPError: Error, Sendable, Hashable {
  /// The server wants a user name and a password, but none were given.
  case credentialsMissing
  /// The server refuses the user name and password, or offers no safe way of sending them.
  case credentialsRefused
  /// A redirect led to a server that wants credentials, but those given belong to another server.
  case credentialsNotForwarded(to: String)
  /// The request was answered with this status; a busy server may say for how many seconds to wait.
  case refused(status: Int, retryAfter: Int?)
  /// Status 204: the server has nothing to send.
  case noContent
  /// The response is a page for a browser.
  case webPage
  /// The content type is not that of RTP packets.
  case otherContent(type: String)
  /// The server compresses the stream unasked.
  case encoded(String)
  /// The body does not begin with a length and an RTP packet.
  case notPackets
  /// A length above the limit for a packet.
  case framingLost(length: Int, limit: Int)
  /// No connection within the deadline, in seconds.
  case connectTimedOut(seconds: Int)
  /// No headers within the deadline, in seconds.
  case noResponse(seconds: Int)
  /// No whole packet came within this many seconds of the stream's start.
  case noMedia(seconds: Int)
  /// Packets came, and then no whole packet for this many seconds.
  case mediaStopped(seconds: Int)
  case redirectedTooOften(limit: Int)
  /// A redirect to an address where it must not be followed.
  case redirectRefused(to: String)
  /// The headers exceed the limit, in bytes.
  case headersTooLarge(limit: Int)
  /// The answer to a message exceeds the limit, in bytes.
  case answerTooLong(limit: Int)
  /// The answer does not come from an HTTP server.
  case notHTTP
  /// The connection closed before the answer was complete.
  case closedBeforeAnswer
  /// The body ended before its first packet.
  case empty
  /// The body ended in the middle of a packet.
  case endedInPacket
  /// The connection broke in the middle of the body.
  case connectionClosed
  /// The proxy refused the request or cannot be reached.
  case proxyFailed(reason: String)
  /// Any other error, in libcurl's words.
  case failed(reason: String)
}

extension HTTPError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .credentialsMissing:
      return "the server wants a user name and a password"
    case .credentialsRefused:
      return "the server refuses the user name or the password; check both"
    case .credentialsNotForwarded(let address):
      return "the server redirects to \(ServerURL.withoutUser(address)), which wants a password; "
        + "a password goes only to the address it was given for, so use the new address itself"
    case .refused(let status, let retryAfter):
      return Self.refusal(status: status, retryAfter: retryAfter)
    case .noContent:
      return "the server answered with 204: it has nothing to send now; "
        + "check that the stream is running there"
    case .webPage:
      return "the server answered with a web page; "
        + "this URL is for a browser, look for the URL of the stream itself"
    case .otherContent(let type) where type.lowercased().hasPrefix("application/sdp"):
      return "the server answered with a session description; save it, and give the file: "
        + "rtp-recv session.sdp"
    case .otherContent(let type):
      return "the server answered with '\(type.printable)' instead of video/rtp; check the URL"
    case .encoded(let encoding):
      return "the server compresses the stream (\(encoding.printable)) unasked; "
        + "switch that off for this path"
    case .notPackets:
      return "the server does not send RTP packets with a 4-byte length before each; check the URL"
    case .framingLost(let length, let limit):
      return "the server announced a packet of \(length) bytes, more than \(limit): "
        + "the server or a proxy garbles the stream"
    case .connectTimedOut(let seconds):
      return "no connection within \(seconds) s; check the address and the port, "
        + "and whether a firewall blocks them"
    case .noResponse(let seconds):
      return "the server did not answer within \(seconds) s; check that it speaks HTTP on this port"
    case .noMedia(let seconds):
      return "the server answered, but no packet came within \(seconds) s; "
        + "check that something is being sent there"
    case .mediaStopped(let seconds):
      return "nothing of the stream came for \(seconds) s; the server or the network is gone"
    case .redirectedTooOften(let limit):
      return "the server redirects in a circle, or more than \(limit) times; "
        + "use the address of the stream itself"
    case .redirectRefused(let address):
      return "the server redirects to '\(ServerURL.withoutUser(address))', which is not followed "
        + "from here; if that address is right, use it as the source"
    case .headersTooLarge(let limit):
      return "the server sent headers of more than \(limit) bytes; it is faulty or hostile"
    case .answerTooLong(let limit):
      return "the server sent an answer of more than \(limit) bytes; it is faulty or hostile"
    case .notHTTP:
      return "the server on this port does not speak HTTP; check the port, and try https://"
    case .closedBeforeAnswer:
      return "the server closed the connection without an answer; it may have restarted, "
        + "have too many clients, or want https://"
    case .empty:
      return "the server ended the stream before its first packet; "
        + "check that something is being sent there"
    case .endedInPacket:
      return "the stream ended in the middle of a packet; the server was stopped, or is faulty"
    case .connectionClosed:
      return "the connection broke; the server or the network is gone"
    case .proxyFailed(let reason):
      return "the proxy failed (\(reason)); check --http-proxy"
    case .failed(let reason):
      return "the transfer failed (\(reason.printable))"
    }
  }

  private static func refusal(status: Int, retryAfter: Int?) -> String {
    let answer = "the server answered with \(status)"
    let wait = retryAfter.map { ", and asks to wait \($0) s" } ?? ""
    switch status {
    case 400: return "\(answer) (bad request); check the URL"
    case 403: return "\(answer) (forbidden); this user, or this network, is not allowed in"
    case 404: return "\(answer) (not found); check the path in the URL"
    case 407: return "\(answer): the proxy wants a password; give it in --http-proxy"
    case 410: return "\(answer) (gone); the stream no longer exists"
    case 429: return "\(answer) (too many requests)\(wait); try again later"
    case 502, 504: return "\(answer): the server behind the proxy does not answer\(wait)"
    case 503: return "\(answer) (unavailable)\(wait); it may have too many clients"
    case 500...599: return "\(answer) (a fault of the server)\(wait); try again, or restart it"
    default: return "\(answer) instead of a stream"
    }
  }
}

extension HTTPError {
  init(_ fault: FramedDelivery.Fault) {
    switch fault {
    case .notPackets, .capture, .foreign: self = .notPackets
    case .webPage: self = .webPage
    case .lost(let length, let limit): self = .framingLost(length: length, limit: limit)
    }
  }
}

extension HTTPError: TransportFault {
  /// Some statuses are temporary (RFC 9110 §15.5.9, RFC 8470, RFC 6585 §4, RFC 9110 §15.6).
  public var fault: ConnectionFault {
    switch self {
    case .credentialsRefused, .refused(403, _): .login
    case .refused(let status, let seconds?) where status == 429 || status >= 500:
      .busy(for: .seconds(seconds))
    case .refused(let status, _):
      [408, 425, 429].contains(status) || status >= 500 ? .transient : .permanent
    case .credentialsMissing, .credentialsNotForwarded, .webPage, .otherContent, .encoded,
      .notPackets, .redirectedTooOften, .redirectRefused, .headersTooLarge, .answerTooLong,
      .notHTTP:
      .permanent
    case .noContent, .framingLost, .connectTimedOut, .noResponse, .noMedia, .mediaStopped,
      .closedBeforeAnswer, .empty, .endedInPacket, .connectionClosed, .proxyFailed, .failed:
      .transient
    }
  }

  public var advice: TransportAdvice? { self == .credentialsMissing ? .login : nil }

  public var outcome: TransportOutcome? {
    switch self {
    case .credentialsMissing, .credentialsRefused, .credentialsNotForwarded, .refused(403, _),
      .refused(407, _):
      .credentials
    case .redirectedTooOften, .redirectRefused: .redirectRefused
    case .refused(404, _), .refused(410, _), .webPage, .otherContent, .notPackets: .noSuchStream
    case .noMedia, .noContent, .empty: .noMedia
    case .mediaStopped: .mediaLost
    default: nil
    }
  }
}

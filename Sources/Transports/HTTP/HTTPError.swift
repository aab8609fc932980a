/// What ended an HTTP stream, or kept it from beginning; each description says what to try.
public enum HTTPError: Error, Sendable, Hashable {
  /// The server wants a user name and a password, and there are none.
  case credentialsMissing
  /// The server refuses the user name and password, or offers no way of sending them that is safe now.
  case credentialsRefused
  /// The server that a redirect led to wants credentials; those that there are belong to another.
  case credentialsNotForwarded(to: String)
  /// The request was answered with this status; servers that are busy may say for how many seconds.
  case refused(status: Int, retryAfter: Int?)
  /// Status 204: the server has nothing to send.
  case noContent
  /// What comes is a page for a browser.
  case webPage
  /// What comes is said to be something else than RTP packets.
  case otherContent(type: String)
  /// The server compresses what nobody asked it to compress.
  case encoded(String)
  /// What comes first is no RTP packet behind its length.
  case notPackets
  /// A length of more bytes than a packet may have.
  case framingLost(length: Int, limit: Int)
  /// No connection within the deadline, in seconds.
  case connectTimedOut(seconds: Int)
  /// No headers within the deadline, in seconds.
  case noResponse(seconds: Int)
  /// No packet of the stream came whole within so many seconds of its start.
  case noMedia(seconds: Int)
  /// The stream flowed, and then no packet of it came whole for so many seconds.
  case mediaStopped(seconds: Int)
  case redirectedTooOften(limit: Int)
  /// A redirect to where it must not be followed.
  case redirectRefused(to: String)
  /// The headers exceed the limit, in bytes.
  case headersTooLarge(limit: Int)
  /// What answers is no HTTP server.
  case notHTTP
  /// The connection closed before the answer was there.
  case closedBeforeAnswer
  /// The body ended before its first packet.
  case empty
  /// The body ended in the middle of a packet.
  case endedInPacket
  /// The connection broke in the middle of the body.
  case connectionClosed
  /// The proxy does not let this through.
  case proxyFailed(reason: String)
  /// Something that has no case of its own, in libcurl's words.
  case failed(reason: String)
}

extension HTTPError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .credentialsMissing:
      return "the server wants a user name and a password; "
        + "give them with --user and --password-file, or in the URL"
    case .credentialsRefused:
      return "the server refuses the user name or the password; check both"
    case .credentialsNotForwarded(let address):
      return "the server redirects to \(ServerURL.withoutUser(address)), which wants a password; "
        + "it is sent to no address but the one it was given for: use the new address itself"
    case .refused(let status, let retryAfter):
      return Self.refusal(status: status, retryAfter: retryAfter)
    case .noContent:
      return "the server answered with 204: it has nothing to send now; "
        + "check that the stream is running there"
    case .webPage:
      return "the server answered with a web page; "
        + "this is the URL for a browser, look for that of the stream itself"
    case .otherContent(let type):
      return "the server answered with ‘\(type.printable)’, and not with video/rtp; check the URL"
    case .encoded(let encoding):
      return "the server compresses the stream (\(encoding.printable)), which nobody asked for; "
        + "switch that off for this path"
    case .notPackets:
      return "what the server sends are no RTP packets, each behind its length in 4 bytes; "
        + "check the URL"
    case .framingLost(let length, let limit):
      return "a packet of \(length) bytes was announced, more than \(limit): "
        + "the lengths no longer stand where they should; the server or a proxy garbles the stream"
    case .connectTimedOut(let seconds):
      return "no connection within \(seconds) s; check the address and the port, "
        + "and whether a firewall stands between"
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
      return "the server redirects to ‘\(ServerURL.withoutUser(address))’, which is not followed "
        + "from here; if that is right, use it as the source"
    case .headersTooLarge(let limit):
      return "the server sent headers of more than \(limit) bytes; it is faulty or hostile"
    case .notHTTP:
      return "what answers on this port does not speak HTTP; check the port, and try https://"
    case .closedBeforeAnswer:
      return "the server closed the connection without an answer; it may have restarted, "
        + "serve too many already, or want https://"
    case .empty:
      return "the server ended the stream before its first packet; "
        + "check that something is being sent there"
    case .endedInPacket:
      return "the stream ended in the middle of a packet; the server was stopped, or is faulty"
    case .connectionClosed:
      return "the connection broke; the server or the network is gone"
    case .proxyFailed(let reason):
      return "the proxy does not let this through (\(reason)); check --http-proxy"
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
    case 410: return "\(answer) (gone); the stream is there no longer"
    case 429: return "\(answer) (too many requests)\(wait); try again later"
    case 502, 504: return "\(answer): the server behind the proxy does not answer\(wait)"
    case 503: return "\(answer) (unavailable)\(wait); it may serve too many already"
    case 500...599: return "\(answer) (its own fault)\(wait); try again, or restart it"
    default: return "\(answer), which is no stream"
    }
  }
}

extension HTTPError {
  init(_ fault: FramedDelivery.Fault) {
    switch fault {
    case .notPackets, .capture: self = .notPackets
    case .webPage: self = .webPage
    case .lost(let length, let limit): self = .framingLost(length: length, limit: limit)
    }
  }
}

extension HTTPError: TransportFault {
  /// Statuses that pass by themselves (RFC 9110 §15.5.9, RFC 8470, RFC 6585 §4, RFC 9110 §15.6).
  public var fault: ConnectionFault {
    switch self {
    case .credentialsRefused, .refused(403, _): .login
    case .refused(let status, let seconds?) where status == 429 || status >= 500:
      .busy(for: .seconds(seconds))
    case .refused(let status, _):
      [408, 425, 429].contains(status) || status >= 500 ? .transient : .permanent
    case .credentialsMissing, .credentialsNotForwarded, .webPage, .otherContent, .encoded,
      .notPackets, .redirectedTooOften, .redirectRefused, .headersTooLarge, .notHTTP:
      .permanent
    case .noContent, .framingLost, .connectTimedOut, .noResponse, .noMedia, .mediaStopped,
      .closedBeforeAnswer, .empty, .endedInPacket, .connectionClosed, .proxyFailed, .failed:
      .transient
    }
  }

  public var asksForLogin: Bool { if case .credentialsMissing = self { true } else { false } }

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

/// An error of a transport that says what follows from it.
///
/// Each transport's errors conform to it in their own folder. The description says what happened
/// and what to try; what the options of a program may do about it is the `advice`.
public protocol TransportFault: Error, CustomStringConvertible {
  /// Whether trying again helps.
  var fault: ConnectionFault { get }

  /// What became of the stream, for exit statuses; `nil` if that depends on when it happened.
  var outcome: TransportOutcome? { get }

  /// Whether nothing is wrong, and the rest of the stream comes at once in another connection.
  var continuesInAnotherConnection: Bool { get }

  /// What else may help, for which a program has words of its own; `nil` if there is nothing.
  var advice: TransportAdvice? { get }
}

extension TransportFault {
  public var outcome: TransportOutcome? { nil }
  public var continuesInAnotherConnection: Bool { false }
  public var advice: TransportAdvice? { nil }
}

/// What may help against an error of a transport, if the program at hand has an option for it.
public enum TransportAdvice: Sendable, Hashable {
  /// Give the user name and the password that the far end wants.
  case login
  /// Give the user name and the password apart from the URL.
  case loginApart
  /// Name the transport of a source that is no URL.
  case transport
  /// See which streams the far end has.
  case streams
  /// See what is in the session description.
  case sessionDescription
  /// See the numbers of the streams in the session description.
  case numbers
  /// See the profiles of the camera.
  case profiles
  /// Ask the camera by ONVIF for the paths of its streams.
  case paths
}

/// Whether another attempt can help.
public enum ConnectionFault: Sendable, Hashable {
  /// It may pass: a restarting device, a network outage.
  case transient
  /// The far end asks for a pause of this length.
  case busy(for: Duration)
  /// A login was refused. Many cameras lock an account after a few attempts, so wait longer.
  case login
  /// Another attempt would fail too: the request is wrong, or the far end is not to be trusted.
  case permanent

  /// A fault without its details, as it is counted.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case transient, busy, login, permanent
  }

  public var kind: Kind {
    switch self {
    case .transient: .transient
    case .busy: .busy
    case .login: .login
    case .permanent: .permanent
    }
  }

  /// Judges an error from a transport's `open` or its end.
  public init(of error: any Error) { self = (error as? any TransportFault)?.fault ?? .transient }
}

/// What an error means for a stream, in terms of exit statuses.
public enum TransportOutcome: Sendable, Hashable, CaseIterable {
  /// The request cannot be meant like that.
  case usage
  /// A login or a key is missing or refused.
  case credentials
  /// The far end or the media could not be verified.
  case notTrusted
  case noSuchStream
  /// The far end redirects too often, or to a forbidden place.
  case redirectRefused
  /// Nothing of the stream came.
  case noMedia
  /// Media came and then stopped.
  case mediaLost
  /// What came is in no known format.
  case unrecognized
  /// The source could not be opened.
  case cannotOpen
  /// The stream broke off.
  case failed
}

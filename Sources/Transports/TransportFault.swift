/// An error of a transport, which says what follows from it.
///
/// Each transport's errors conform to it in their own folder. What happened, and what to try, is
/// said by the description.
public protocol TransportFault: Error, CustomStringConvertible {
  /// Whether trying again helps.
  var fault: ConnectionFault { get }

  /// What became of the stream, as far as programs tell ends apart; `nil` where that depends on
  /// when it happened.
  var outcome: TransportOutcome? { get }

  /// Whether the far end wants a user name and a password, and none were given.
  var asksForLogin: Bool { get }
}

extension TransportFault {
  public var outcome: TransportOutcome? { nil }
  public var asksForLogin: Bool { false }
}

/// What kind of fault keeps a transport from its stream, as far as trying again is concerned.
public enum ConnectionFault: Sendable, Hashable {
  /// It may be over soon: a device that restarts, a network that is away.
  case transient
  /// The far end asks not to be asked again before so long.
  case busy(for: Duration)
  /// A login was refused. Many cameras lock an account after a few attempts, so the next one waits.
  case login
  /// Trying again leads to the same: what was asked for is wrong, or the far end is not to be
  /// trusted.
  case permanent

  /// Judges an error that a transport's `open` threw or its end gave as the reason.
  public init(of error: any Error) { self = (error as? any TransportFault)?.fault ?? .transient }
}

/// What an error made of a stream, as far as programs and their exit statuses tell.
public enum TransportOutcome: Sendable, Hashable, CaseIterable {
  /// What was asked for cannot be meant.
  case usage
  /// A login or a key is missing or refused.
  case credentials
  /// The far end, or what comes, could not be verified.
  case notTrusted
  case noSuchStream
  /// The far end sends elsewhere too often, or to where it must not be followed.
  case redirectRefused
  /// Nothing of the stream came.
  case noMedia
  /// Media came, and then none.
  case mediaLost
  /// What came is nothing that is known here.
  case unrecognized
  /// The source could not be opened.
  case cannotOpen
  /// The stream broke off.
  case failed
}

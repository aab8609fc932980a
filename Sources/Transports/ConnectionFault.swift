/// What kind of fault keeps a transport from its stream, as far as trying again is concerned.
public enum ConnectionFault: Sendable, Hashable {
  /// It may be over soon: a server that restarts, a network that is down.
  case transient
  /// A login was refused. Cameras lock an account after a few attempts, so the next one waits.
  case login
  /// Trying again leads to the same: what was asked for is wrong, or the far end is not to be
  /// trusted.
  case permanent

  /// Judges an error that a transport's `open` threw or its end gave as the reason.
  public init(of error: any Error) {
    switch error {
    case let error as RTSPError: self = error.fault
    case let error as TLSError: self = error.fault
    case let error as TransportError: self = error.fault
    default: self = .transient
    }
  }
}

extension RTSPError {
  fileprivate var fault: ConnectionFault {
    switch self {
    case .credentialsMissing, .credentialsNotForwarded, .authenticationUnsupported,
      .redirectedTooOften, .redirectRefused, .noSuchStream, .unsupportedProfile, .deliveryRefused:
      .permanent
    case .credentialsRefused: .login
    // A camera that starts up refuses for a while what it serves later.
    default: .transient
    }
  }
}

extension TLSError {
  fileprivate var fault: ConnectionFault {
    switch self {
    case .handshakeTimedOut, .closedInHandshake, .handshakeFailed: .transient
    default: .permanent
    }
  }
}

extension TransportError {
  fileprivate var fault: ConnectionFault {
    switch self {
    case .source, .noSuchInterface, .permissionDenied, .payloadTooLong, .fileUnreadable,
      .sessionDescription, .nothingToReceive, .unsupportedProfile, .alreadyOpened:
      .permanent
    default: .transient
    }
  }
}

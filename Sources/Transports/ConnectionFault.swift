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
  public init(of error: any Error) {
    switch error {
    case let error as RTSPError: self = error.fault
    case let error as HTTPError: self = error.fault
    case let error as FramedError: self = error.fault
    case let error as TLSError: self = error.fault
    case let error as TransportError: self = error.fault
    // A recording stays as it is.
    case is ReplayError: self = .permanent
    // Neither a key nor what a description lacks gets better by asking again.
    case is SRTPError: self = .permanent
    default: self = .transient
    }
  }
}

extension RTSPError {
  fileprivate var fault: ConnectionFault {
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
      .noSuchStream(.firstVideo):
      .transient
    }
  }
}

extension TLSError {
  fileprivate var fault: ConnectionFault {
    switch self {
    case .handshakeRefused, .handshakeTimedOut, .closedInHandshake, .handshakeFailed: .transient
    // A board without a clock of its own learns the time only some seconds after it has started.
    case .certificateNotYetValid: .transient
    case .certificateExpired, .wrongHost, .untrusted, .otherCertificate, .clientCertificateWanted,
      .notEncrypted, .protocolTooOld, .fileUnusable, .noAuthorities, .clientKeyMismatch:
      .permanent
    }
  }
}

extension TransportError {
  fileprivate var fault: ConnectionFault {
    switch self {
    case .nameNotResolved, .nameResolutionTimedOut, .connectionRefused, .notConnected, .portInUse,
      .addressNotAvailable, .groupNotJoined, .system:
      .transient
    case .source, .noSuchInterface, .permissionDenied, .payloadTooLong, .fileUnreadable,
      .sessionDescription, .nothingToReceive, .noUsableMedia, .unsupportedProfile, .protected,
      .closed, .alreadyOpened:
      .permanent
    }
  }
}

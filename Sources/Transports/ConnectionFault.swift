/// An error of a transport that knows what it means for trying again.
public protocol ConnectionFault: Error {
  /// Whether the same attempt may succeed later.
  var persistence: FaultPersistence { get }
}

/// How long a fault is likely to stay.
public enum FaultPersistence: Sendable, Hashable {
  /// It may pass by itself: a device that restarts, a network that is away.
  case passing
  /// The far end refuses the user name or the password; many cameras lock an account after a few
  /// attempts.
  case credentials
  /// It stays until a person changes something.
  case permanent
}

extension TransportError: ConnectionFault {
  public var persistence: FaultPersistence {
    switch self {
    case .nameNotResolved, .nameResolutionTimedOut, .connectionRefused, .notConnected, .portInUse,
      .addressNotAvailable, .groupNotJoined, .system:
      return .passing
    case .source, .noSuchInterface, .permissionDenied, .payloadTooLong, .fileUnreadable,
      .sessionDescription, .nothingToReceive, .unsupportedProfile, .closed, .alreadyOpened:
      return .permanent
    }
  }
}

extension RTSPError: ConnectionFault {
  public var persistence: FaultPersistence {
    switch self {
    case .credentialsRefused: return .credentials
    // RFC 2326 §11: 403 is for good as far as the server is concerned, and not asked for often.
    case .refused(_, 403, _): return .credentials
    // A camera that is starting describes what it has by then, and knows no path before that.
    case .refused, .connectTimedOut, .noResponse, .noMedia, .mediaStopped, .framingLost, .stalled,
      .messageTooLarge, .connectionClosed, .sessionDescription, .emptyDescription,
      .noSuchStream:
      return .passing
    case .credentialsMissing, .credentialsNotForwarded, .authenticationUnsupported,
      .redirectedTooOften, .redirectRefused, .unsupportedProfile, .deliveryRefused:
      return .permanent
    }
  }
}

extension TLSError: ConnectionFault {
  public var persistence: FaultPersistence {
    switch self {
    // A board without a clock of its own learns the time only some seconds after it has started.
    case .certificateNotYetValid: return .passing
    case .handshakeRefused, .handshakeTimedOut, .closedInHandshake, .handshakeFailed:
      return .passing
    case .certificateExpired, .wrongHost, .untrusted, .otherCertificate, .clientCertificateWanted,
      .notEncrypted, .protocolTooOld, .fileUnusable, .noAuthorities, .clientKeyMismatch:
      return .permanent
    }
  }
}

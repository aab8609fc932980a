/// What ended an RTSP session, or kept it from beginning; each description says what to try.
public enum RTSPError: Error, Sendable, Hashable {
  /// The server wants a user name and a password, and there are none.
  case credentialsMissing(realm: String)
  /// The server refuses the user name and password.
  case credentialsRefused(realm: String)
  /// The server names no kind of authentication that is known here, or none that is safe now.
  case authenticationUnsupported(schemes: [String])
  /// A request was refused with this status.
  case refused(method: String, status: Int, reason: String)
  /// No response within the deadline, in seconds.
  case noResponse(method: String, seconds: Int)
  case redirectedTooOften(limit: Int)
  /// A redirect to where it must not be followed.
  case redirectRefused(to: String)
  /// What comes through the connection is not RTSP, or ceased to be.
  case framingLost(skipped: Int)
  /// A message exceeds a limit.
  case messageTooLarge(what: String, limit: Int)
  /// The connection closed in the middle of a session.
  case connectionClosed
  case sessionDescription(SessionDescriptionError)
  /// The server describes no video, or no stream of the number that was asked for.
  case noSuchStream(RTSPConfiguration.Selection)
  /// The server carries the stream in none of the ways that were allowed.
  case deliveryRefused
}

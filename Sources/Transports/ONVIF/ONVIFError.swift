/// Why a camera does not say where its stream is; each description says what to try.
public enum ONVIFError: Error, Sendable, Hashable {
  /// The camera wants a user name and a password, but none were given.
  case credentialsMissing
  /// The camera refuses the user name and password.
  case credentialsRefused
  /// The camera takes the login by Basic authentication alone, which does not hide the password.
  case onlyBasic
  /// What answers there is no ONVIF device; with the HTTP status.
  case notONVIF(status: Int)
  /// An answer cannot be read, or is meant to do harm.
  case unreadable(request: String)
  /// A request was refused, in the camera's words.
  case refused(request: String, reason: String)
  /// No answer to a request within the deadline, in seconds.
  case noAnswer(request: String, seconds: Int)
  /// The answers came, but not all of them within the deadline, in seconds.
  case tooSlow(seconds: Int)
  /// The camera has no profile of this name, token or number; with the names that there are.
  case noSuchProfile(String, known: [String])
  /// The camera has profiles, but none with H.264 or H.265; with their encodings.
  case noUsableProfile(encodings: [String])
  /// The camera has no profiles at all.
  case noProfiles
  /// The camera names no address for a profile.
  case noAddress(profile: String)
  /// The address that the camera names for a profile is none of RTSP.
  case unusableAddress(String, profile: String)
}

extension ONVIFError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .credentialsMissing:
      return "the camera wants a user name and a password"
    case .credentialsRefused:
      return "the camera refuses the user name or the password; check both, and whether this user "
        + "may use ONVIF, which has users of its own in many cameras"
    case .onlyBasic:
      return "the camera's services take the password only as it is (Basic authentication), and do "
        + "not get it; change that in the camera's settings, or use its rtsp:// URL"
    case .notONVIF(let status):
      return "what answers there is no ONVIF device (HTTP status \(status)); check the port, and "
        + "that ONVIF is switched on"
    case .unreadable(let request):
      return "the camera's answer to \(request) cannot be read; it is faulty or hostile"
    case .refused(let request, let reason):
      let words = reason.isEmpty ? "without a reason" : "'\(reason.printable)'"
      return "the camera refuses \(request) (\(words)); try its rtsp:// URL"
    case .noAnswer(let request, let seconds):
      return "the camera did not answer \(request) within \(seconds) s; check the port, and that "
        + "ONVIF is switched on"
    case .tooSlow(let seconds):
      return "the camera did not say within \(seconds) s where its stream is; it is overloaded"
    case .noSuchProfile(let name, let known):
      return "the camera has no profile '\(name.printable)'; there are \(Self.list(known))"
    case .noUsableProfile(let encodings):
      return "none of the camera's profiles can be received (\(Self.list(encodings))); switch the "
        + "encoding of one in its settings"
    case .noProfiles:
      return "the camera has no profiles; check its settings, and whether this user may see them"
    case .noAddress(let profile):
      return "the camera names no address for the profile '\(profile.printable)'; try another one, "
        + "or its rtsp:// URL"
    case .unusableAddress(let address, let profile):
      return "the camera names '\(address.printable)' for the profile '\(profile.printable)', "
        + "which is no address of RTSP; try another profile, or its rtsp:// URL"
    }
  }

  /// At most eight of `names`.
  private static func list(_ names: [String]) -> String {
    names.prefix(8).map(\.printable).joined(separator: ", ") + (names.count > 8 ? ", …" : "")
  }
}

extension ONVIFError: TransportFault {
  public var fault: ConnectionFault {
    switch self {
    case .credentialsRefused: .login
    // A camera that starts answers with errors of all sorts for a while.
    case .notONVIF(let status) where status >= 500: .transient
    case .noAnswer, .tooSlow, .refused, .noProfiles, .noAddress, .unusableAddress: .transient
    case .credentialsMissing, .onlyBasic, .notONVIF, .unreadable, .noSuchProfile, .noUsableProfile:
      .permanent
    }
  }

  public var advice: TransportAdvice? {
    switch self {
    case .credentialsMissing: .login
    case .noSuchProfile: .profiles
    default: nil
    }
  }

  public var outcome: TransportOutcome? {
    switch self {
    case .credentialsMissing, .credentialsRefused, .onlyBasic: .credentials
    case .noSuchProfile, .noUsableProfile, .noProfiles, .noAddress, .unusableAddress: .noSuchStream
    case .notONVIF, .unreadable, .refused, .noAnswer, .tooSlow: nil
    }
  }
}

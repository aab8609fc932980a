/// A section of `--help`, by its title.
public enum OptionSection: String, Sendable {
  case udp = "UDP"
  case rtsp = "RTSP"
  case http = "HTTP"
  case tls = "TLS"
  case srtp = "SRTP"
  case recordings = "Recordings"
  /// The transports of other packages.
  case added = "Added transports"
}

/// Which options of the command line have an effect on sources of one sort.
///
/// An option in no scope concerns every source. An option in some scope, but not in that of the
/// source at hand, is a mistake.
public struct OptionScope: Sendable {
  /// What people call such sources, such as `rtsp://`.
  public let words: String
  /// With their dashes, such as `--timeout`.
  public var options: [String]
  /// Whether a source of the transport is of this sort.
  public let includes: @Sendable (_ source: String) -> Bool

  public init(
    _ words: String, options: [String],
    includes: @escaping @Sendable (_ source: String) -> Bool = { _ in true }
  ) {
    self.words = words
    self.options = options
    self.includes = includes
  }
}

extension OptionScope {
  /// The options of those who open sockets.
  public static let connections = ["--bind", "--interface"]
  /// The options of those who receive datagrams.
  public static let sockets = connections + ["--receive-buffer"]
  /// The options of those who use TLS.
  public static let tls = [
    "--tls-ca", "--tls-pin", "--tls-certificate", "--tls-key", "--tls-insecure",
  ]
  /// The options of those who log in.
  public static let login = ["--user", "--password-file"]
}

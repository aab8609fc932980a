import Transports

/// The options that one kind of source heeds, of those that not every source heeds.
///
/// An option in no scope concerns every source. An option in some scope, but not in that of the
/// source at hand, is a mistake.
struct OptionScope {
  /// The transport's name in the catalogue, or ``pipe``.
  let transport: String
  /// What people call such sources.
  let words: String
  let options: [String]

  private static let sockets = ["--bind", "--interface", "--receive-buffer"]
  private static let connections = ["--bind", "--interface"]
  private static let tls = [
    "--tls-ca", "--tls-pin", "--tls-certificate", "--tls-key", "--tls-insecure",
  ]
  private static let login = ["--user", "--password-file"]

  static let all = [
    OptionScope(
      transport: "udp", words: "udp://",
      options: ["--hello", "--heartbeat", "--heartbeat-interval", "--feedback", "--timeout"]
        + sockets),
    OptionScope(
      transport: "rtp", words: "rtp:// or .sdp", options: ["--feedback", "--timeout"] + sockets),
    OptionScope(
      transport: "rtsp", words: "rtsp://",
      options: ["--rtsp-transport", "--stream", "--all-streams", "--feedback", "--timeout"]
        + login + tls + sockets),
    OptionScope(
      transport: "http", words: "http://",
      options: ["--http-proxy", "--timeout"] + login + tls + connections),
    OptionScope(
      transport: "tcp", words: "tcp://", options: ["--framing", "--timeout"] + connections),
    OptionScope(
      transport: pipe, words: "pipes", options: ["--framing", "--timeout", "--ssrc", "--port"]),
    OptionScope(
      transport: "replay", words: "recordings",
      options: ["--speed", "--ssrc", "--port", "--framing"]),
  ]

  /// A pipe shares the transport of `tcp`, but has no socket.
  static let pipe = "-"

  /// What is wrong with the typed `options` for a source that `transport` carries.
  static func complaint(about options: [String], for transport: String) -> String? {
    guard let own = all.first(where: { $0.transport == transport }) else { return nil }
    for option in options where !own.options.contains(option) {
      let others = all.filter { $0.options.contains(option) }.map(\.words)
      guard !others.isEmpty else { continue }
      return "\(option) has no effect with \(own.words); it is for "
        + others.joined(separator: ", ")
    }
    return nil
  }

  /// The long options among `arguments`, as they were typed.
  static func options(in arguments: [String]) -> [String] {
    arguments.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map {
      String($0.prefix { $0 != "=" })
    }
  }
}

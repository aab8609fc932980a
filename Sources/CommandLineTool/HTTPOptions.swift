import ArgumentParser
import Transports

struct HTTPOptions: ParsableArguments {
  @Option(
    name: .customLong("http-proxy"),
    help: ArgumentHelp(
      "The proxy, as http://HOST:PORT. Variables of the environment are not used.",
      valueName: "url"))
  var proxy: String?

  /// The configuration for HTTP, without credentials.
  func configuration(tls: TLSOptions, timeout: Double?) throws -> HTTPConfiguration {
    var configuration = HTTPConfiguration()
    if let timeout { configuration.silence = timeout > 0 ? .seconds(timeout) : nil }
    configuration.tls = try tls.configuration()
    // The shown argument has no password.
    configuration.proxy = proxy.map { CommandLineSecrets.taken.original(of: $0) }
    return configuration
  }
}

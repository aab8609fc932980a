public import ArgumentParser
public import Transports

struct RTSPOptions: ParsableArguments {
  @Option(
    name: .customLong("rtsp-transport"),
    help: ArgumentHelp(
      """
      How the media comes: auto (over UDP, or in the connection when nothing comes that way), tcp, \
      udp or multicast.
      """, valueName: "way"))
  var delivery = RTSPConfiguration.Delivery.automatic

  @Option(
    help: ArgumentHelp(
      "The stream to play, counted from 0 as --list shows them; by default the first video.",
      valueName: "n"))
  var stream: Int?

  @Flag(
    help: """
      Set up all streams and let go what comes on the others; some recorders send no video \
      otherwise.
      """)
  var allStreams = false

  @Flag(help: "Show which streams there are, as text or as JSON, and play none.")
  var listing: StreamList.Form?

  @Option(help: ArgumentHelp("The user name, if the URL has none.", valueName: "name"))
  var user: String?

  @Option(
    help: ArgumentHelp(
      """
      A file whose first line is the password, readable by its owner alone. Otherwise \
      RTP_RECV_PASSWORD in the environment is the password; a terminal is asked for it.
      """, valueName: "file"))
  var passwordFile: String?

  func validate() throws {
    guard stream ?? 0 >= 0 else { throw ValidationError("streams are counted from 0") }
  }

  /// What RTSP is to do, without credentials.
  func configuration(tls: TLSOptions, timeout: Double?) throws -> RTSPConfiguration {
    var configuration = RTSPConfiguration()
    if let timeout { configuration.silence = timeout > 0 ? .seconds(timeout) : nil }
    configuration.delivery = delivery
    if let stream { configuration.selection = .number(stream) }
    configuration.setsUpEverything = allStreams
    configuration.tls = try tls.configuration()
    return configuration
  }
}

extension RTSPConfiguration.Delivery: ExpressibleByArgument {}

struct TLSOptions: ParsableArguments {
  @Option(
    name: .customLong("tls-ca"),
    help: ArgumentHelp(
      "A PEM file of the authorities to trust, instead of the system's.", valueName: "file"))
  var authorities: String?

  @Option(
    name: .customLong("tls-pin"),
    help: ArgumentHelp(
      "The SHA-256 of the server's certificate, which then alone decides.", valueName: "hex"))
  var pin: String?

  @Option(
    name: .customLong("tls-certificate"),
    help: ArgumentHelp("A PEM file with the certificate to show the server.", valueName: "file"))
  var certificate: String?

  @Option(
    name: .customLong("tls-key"),
    help: ArgumentHelp("The PEM file of that certificate's private key.", valueName: "file"))
  var key: String?

  @Flag(name: .customLong("tls-insecure"), help: "Trust any server, whoever it is.")
  var isInsecure = false

  func validate() throws {
    guard (certificate == nil) == (key == nil) else {
      throw ValidationError("--tls-certificate and --tls-key go together")
    }
    _ = try configuration()
  }

  func configuration() throws -> TLSConfiguration {
    var configuration = TLSConfiguration()
    configuration.authorities = authorities
    configuration.clientCertificate = certificate
    configuration.clientKey = key
    configuration.acceptsAnything = isInsecure
    if let pin {
      guard let bytes = BytesArgument(argument: "hex:" + pin)?.bytes, bytes.count == 32 else {
        throw ValidationError("--tls-pin takes a SHA-256: 64 hexadecimal digits")
      }
      configuration.pin = bytes
    }
    return configuration
  }
}

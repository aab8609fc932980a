import ArgumentParser
import Transports

struct TLSOptions: ParsableArguments {
  @Option(
    name: .customLong("tls-ca"),
    help: ArgumentHelp(
      "A PEM file of the authorities to trust, instead of the system's.", valueName: "file"))
  var authorities: String?

  @Option(
    name: .customLong("tls-pin"),
    help: ArgumentHelp(
      "The SHA-256 of the server's certificate; nothing else is checked then.", valueName: "hex"))
  var pin: String?

  @Option(
    name: .customLong("tls-certificate"),
    help: ArgumentHelp("A PEM file with the certificate to show the server.", valueName: "file"))
  var certificate: String?

  @Option(
    name: .customLong("tls-key"),
    help: ArgumentHelp("The PEM file of that certificate's private key.", valueName: "file"))
  var key: String?

  @Flag(name: .customLong("tls-insecure"), help: "Trust any server.")
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
      guard let bytes = (try? BytesArgument(parsing: "hex:" + pin))?.bytes, bytes.count == 32 else {
        throw ValidationError("--tls-pin takes a SHA-256: 64 hexadecimal digits")
      }
      configuration.pin = bytes
    }
    return configuration
  }
}

public import ArgumentParser
public import Transports

struct RTSPOptions: ParsableArguments {
  @Option(
    name: .customLong("rtsp-transport"),
    help: ArgumentHelp(
      """
      How the media comes: auto (over UDP, else in the connection), tcp, udp or multicast.
      """, valueName: "way"))
  var delivery = RTSPConfiguration.Delivery.automatic

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The stream to play, counted from 0 as --list shows them; by default the first video.",
      valueName: "n"))
  var stream: Int?

  @Flag(
    help: """
      Set up all streams and discard the others; some recorders send no video otherwise.
      """)
  var allStreams = false

  @Flag(help: "List the streams, as text or as JSON, and play none.")
  var listing: StreamList.Form?

  func validate() throws {
    guard stream ?? 0 >= 0 else { throw ValidationError("--stream must be at least 0") }
  }

  /// The configuration for RTSP, without credentials.
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

public import ArgumentParser
public import Transports

struct ReplayOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The pace, where 1 is as recorded; by default as fast as possible.",
      valueName: "n"))
  var speed: Double?

  @Option(
    help: ArgumentHelp(
      "The SSRC of the RTP to play, such as 0x1234abcd; by default what looks like video.",
      valueName: "ssrc"))
  var ssrc: SourceIdentifier?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The port, of either end, of the RTP to play.", valueName: "n"))
  var port: UInt16?

  @Option(
    help: ArgumentHelp(
      """
      The framing of a file, a pipe or a tcp:// connection: packets after a length of 4 bytes \
      (rtp4) or 2 bytes (rfc4571). A file may then have any name.
      """, valueName: "name"))
  var framing: PacketFraming?

  @Option(
    name: .customLong("capture"),
    help: ArgumentHelp(
      """
      Write every packet, decrypted, to a .pcapng file that can be played again and opened in \
      Wireshark (tell it: UDP port 5004 is RTP). An existing file is replaced when the first packet \
      comes.
      """, valueName: "file"))
  var capture: String?

  func validate() throws {
    guard let speed else { return }
    guard speed > 0, speed <= 1e6 else {
      throw ValidationError("--speed must be above 0, and at most 1000000")
    }
  }

  /// The configuration for recordings; payload types come from the media's options.
  func configuration(
    payloadType: UInt8?, auxiliaryTypes: [UInt8]
  ) -> ReplayConfiguration {
    var configuration = ReplayConfiguration()
    configuration.speed = speed
    configuration.ssrc = ssrc?.number
    configuration.port = port
    configuration.payloadType = payloadType
    configuration.auxiliaryTypes = Set(auxiliaryTypes)
    return configuration
  }
}

extension CaptureCounters {
  /// Why the capture at `path` is incomplete; `nil` if it is complete.
  func complaint(about path: String) -> String? {
    if let failure {
      let loss = dropped > 0 ? ", and \(dropped.counted("packet")) after it are missing" : ""
      return "\(path) cannot be written: \(failure); it ends on a whole packet\(loss)"
    }
    guard dropped > 0 else { return nil }
    return "\(path) lacks \(dropped.counted("packet")): the disk was too slow"
  }
}

extension PacketFraming: ExpressibleByArgument {}

/// An SSRC in decimal, or in hexadecimal after `0x`, as Wireshark shows it.
struct SourceIdentifier: ExpressibleByArgument {
  let number: UInt32

  init?(argument: String) {
    let digits = argument.lowercased()
    let number =
      digits.hasPrefix("0x") ? UInt32(digits.dropFirst(2), radix: 16) : UInt32(digits)
    guard let number else { return nil }
    self.number = number
  }
}

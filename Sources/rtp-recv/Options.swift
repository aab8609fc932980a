import ArgumentParser
import Decode
import Defragment
import Glibc
import RTPWire
import Receiver
import Transports

struct OutputOptions: ParsableArguments {
  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp(
      """
      A file or named pipe to write, or - for standard output; repeatable. The ending chooses the \
      format: \(OutputFormat.endings).
      """, valueName: "path"))
  var paths: [String] = []

  @Option(
    help: ArgumentHelp(
      "The format of all outputs, whatever their endings: \(OutputFormat.names).",
      valueName: "name"))
  var format: OutputFormat?

  @Flag(
    help: """
      Scale pictures to the size of the first one where an output cannot change its size: in \
      pipes. Files go on as NAME.0001.y4m.
      """)
  var scaleToFirst = false

  /// What is to be written where.
  func requests() throws -> [OutputRequest] {
    try paths.map { path in
      let target = OutputTarget(path: path)
      guard let format = format ?? OutputFormat(pathEnding: path) ?? (path == "-" ? .y4m : nil)
      else {
        throw ValidationError(
          "cannot tell the format of '\(path)' by its ending; say --format \(OutputFormat.names)")
      }
      return OutputRequest(
        target: target, format: format, policy: target.isRegularFile ? .block : .dropOldest)
    }
  }

  func check() throws {
    if paths.filter({ $0 == "-" }).count > 1 {
      throw ValidationError("standard output can be written only once")
    }
    if paths.contains("-"), isatty(STDOUT_FILENO) == 1 {
      throw ValidationError("raw video on a terminal is of no use; pipe it into a program")
    }
    _ = try requests()
  }
}

struct MediaOptions: ParsableArguments {
  @Option(
    name: .customLong("sdp"),
    help: ArgumentHelp("A session description of what SOURCE carries.", valueName: "file"))
  var sessionDescription: String?

  @Option(
    help: ArgumentHelp(
      "\(FormatCatalogue.names), or auto to recognise it from the packets.", valueName: "name"))
  var codec = "auto"

  @Option(help: ArgumentHelp("The RTP payload type, 0 to 127, if not any.", valueName: "n"))
  var payloadType: UInt8?

  @Option(help: ArgumentHelp("RTP clock ticks a second.", valueName: "n"))
  var clockRate: UInt32?

  @Option(
    help: ArgumentHelp(
      "The longest wait for a packet that is missing; 0 never waits.", valueName: "ms"))
  var reorderWindow = 200

  func validate() throws {
    guard codec == "auto" || FormatCatalogue.codec(named: codec) != nil else {
      throw ValidationError("no codec named '\(codec)'; there are auto, \(FormatCatalogue.names)")
    }
    guard (payloadType ?? 0) < 128 else { throw ValidationError("a payload type is 0 to 127") }
    guard clockRate != 0 else { throw ValidationError("a clock rate is above 0") }
    guard (0...5000).contains(reorderWindow) else {
      throw ValidationError("the reorder window is 0 to 5000 ms")
    }
  }

  /// What the options say about the media.
  var description: MediaDescription {
    MediaDescription(
      payloadType: payloadType,
      encodingName: FormatCatalogue.codec(named: codec)?.encodingName,
      clockRate: clockRate ?? MediaDescription.videoClockRate)
  }
}

struct UDPOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What to say hello with: text, @FILE, or hex:DIGITS; at most 64 bytes.", valueName: "bytes"))
  var hello: BytesArgument?

  @Option(
    help: ArgumentHelp("What each heartbeat says, in the same forms.", valueName: "bytes"))
  var heartbeat: BytesArgument?

  @Option(help: ArgumentHelp("From one heartbeat to the next; at least 1.", valueName: "s"))
  var heartbeatInterval = 3.0

  @Option(
    help: ArgumentHelp("The local address and port to receive on.", valueName: "address:port"))
  var bind: String?

  @Option(help: ArgumentHelp("The network interface for multicast.", valueName: "name"))
  var interface: String?

  @Option(help: ArgumentHelp("The kernel's buffer for the socket.", valueName: "bytes"))
  var receiveBuffer = 4 << 20

  func validate() throws {
    guard heartbeatInterval >= 1, heartbeatInterval <= 3600 else {
      throw ValidationError("the heartbeat interval is 1 to 3600 s")
    }
    guard (4096...1 << 30).contains(receiveBuffer) else {
      throw ValidationError("the receive buffer is 4096 bytes to 1 GiB")
    }
  }
}

struct StoppingOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Stop after so many frames.", valueName: "n"))
  var frames: UInt64?

  @Option(help: ArgumentHelp("Stop so long after the first packet.", valueName: "s"))
  var duration: Double?

  @Option(
    help: ArgumentHelp(
      """
      How long to wait for media, at the start and in the middle; 0 waits for ever. By default 10 s, \
      but a listener waits for ever for its first packet.
      """, valueName: "s"))
  var timeout: Double?

  func validate() throws {
    guard frames != 0 else { throw ValidationError("--frames is above 0") }
    for seconds in [duration, timeout].compactMap(\.self) {
      guard seconds >= 0, seconds <= 31_536_000 else {
        throw ValidationError("a time is 0 s to one year")
      }
    }
  }
}

struct DisplayOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "One JSON object a line, every second and at the end: a file, - or fd:N.",
      valueName: "path"))
  var stats: String?

  @Flag(help: "Say nothing but errors.")
  var quiet = false

  @Flag(help: "Say what is found out on the way: codec, format, changes of the source.")
  var verbose = false

  @Flag(help: "No live status line, even on a terminal.")
  var noProgress = false
}

import ArgumentParser
import Transports

struct StoppingOptions: ParsableArguments {
  @Option(
    name: .customLong("frames"), parsing: .unconditional,
    help: ArgumentHelp(
      """
      Stop after this many frames, or access units where nothing is decoded. Where there are only \
      recordings, these are the ones in them, from the first intact key picture on.
      """, valueName: "n"))
  var frameLimit: Int?

  /// The wanted number of frames.
  var frames: UInt64? { frameLimit.map { UInt64(clamping: $0) } }

  @Option(
    name: .customLong("duration"), parsing: .unconditional,
    help: ArgumentHelp(
      """
      Stop this long after the first packet, in seconds, or with a unit: 90s, 10m, 1h. A stream that \
      ends before is no error, and why it ended is said.
      """, valueName: "time"), transform: Seconds.read)
  var chosenDuration: Seconds?

  /// In seconds.
  var duration: Double? { chosenDuration?.seconds }

  @Option(
    name: .customLong("timeout"), parsing: .unconditional,
    help: ArgumentHelp(
      """
      How long to wait for media, at the start and after a pause, as in --duration; 0 waits forever. \
      By default 10 s, and 5 s for servers that are connected to (RTSP, HTTP, TCP); forever for the \
      first packet of rtp://, and with --reconnect, which a time given here ends too.
      """, valueName: "time"), transform: Seconds.read)
  var chosenTimeout: Seconds?

  /// How long silence may last, if that was said.
  var silence: SilenceLimit? {
    chosenTimeout.map { $0.seconds > 0 ? .after(.seconds($0.seconds)) : .never }
  }

  @Flag(
    help: """
      Connect again when the stream ends, breaks off or cannot be opened; outputs continue. The wait \
      grows from 0.5 s to 30 s, and is 30 s after refused credentials. An unknown host, a network \
      interface that is not there and, with RTSP, a path that the server does not know are tried \
      again too, because cameras and networks that start may lack them; --timeout ends that, and \
      --duration only counts from the first packet. What is no URL, an HTTP server that answers 404, \
      an untrusted certificate and a missing password end the run. Stopped while it connects again, \
      a run without any media so far ends with the status of what keeps it from connecting.
      """)
  var reconnect = false

  func validate() throws {
    guard frameLimit ?? 1 >= 1 else { throw ValidationError("--frames must be at least 1") }
    guard duration ?? 1 > 0 else {
      throw ValidationError("--duration must be above 0; without it a run has no end")
    }
    for (name, seconds) in [("--duration", duration), ("--timeout", chosenTimeout?.seconds)] {
      guard (0...31_536_000).contains(seconds ?? 0) else {
        throw ValidationError("\(name) must be at least 0 s, and at most one year")
      }
    }
  }
}

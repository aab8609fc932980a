public import ArgumentParser
import Bitstream
public import Decode
import Defragment
import Glibc
import Outputs
import RTPWire
import Receiver
import Transports

struct OutputOptions: ParsableArguments {
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp(
      """
      A file or named pipe to write, or - for standard output; repeatable. The ending chooses the \
      format: \(Self.formatNames). An existing file is replaced when the first frame comes. A .jpg or \
      .png is one intact picture; with --every, or with %d, %05d or the time in UTC such as \
      %Y%m%dT%H%M%SZ in its name, it is one of many: without --every, one for each frame, and with \
      --frames 1 a single one. Numbers begin at 1 in each run and replace the pictures of an earlier \
      one. jsonl is what became of each picture, for which \
      it is decoded. \(Self.schemes)
      """, valueName: "path"), completion: .file(), transform: CommandLineSecrets.path)
  var paths: [String] = []

  @Option(
    name: .customLong("format"),
    help: ArgumentHelp(
      """
      The format of outputs whose names do not say it: -, names without an ending, and those with an \
      unknown one. By default, - is y4m. There are \(Self.formatNames).
      """, valueName: "name"), completion: .list(Self.writable.map(\.name)))
  var formatName: String?

  @Flag(
    help: """
      Scale pictures to the size of the first one in outputs that cannot change their size: pipes. \
      Files continue as NAME.0001.y4m, or the next number that is free.
      """)
  var scaleToFirst = false

  @Flag(
    name: .customLong("frame-md5"),
    help: "In .jsonl, add the MD5 of each frame's samples, as ffmpeg -f framemd5 prints it.")
  var frameHashes = false

  /// The requested outputs.
  func requests() throws -> [OutputRequest] {
    try paths.map { path in
      let format = try format(of: path)
      return OutputRequest(
        argument: path, format: format,
        // A file is slow only for moments, so nothing needs to be dropped. A reader may stop for
        // ever, and receiving must not wait for it.
        policy: format.scheme != nil || hasReader(path) ? .dropOldest : .block)
    }
  }

  func validate() throws {
    guard paths.filter({ $0 == "-" }).count < 2 else {
      throw ValidationError("standard output can be written only once")
    }
    guard formatName == nil || !paths.isEmpty else {
      throw ValidationError("--format needs -o")
    }
    guard !scaleToFirst || !paths.isEmpty else {
      throw ValidationError("--scale-to-first needs -o")
    }
    try checkSchemes()
    try checkEndings()
    guard !paths.contains("-") || isatty(STDOUT_FILENO) == 0 else {
      throw ValidationError("standard output is a terminal; pipe the video or give -o FILE")
    }
  }

  /// Throws if an option was typed that says how to write files and pipes, where none are written.
  private func checkSchemes() throws {
    let schemes = paths.compactMap { Self.catalogue.format(forScheme: $0)?.format.scheme }
    guard let scheme = schemes.first, schemes.count == paths.count else { return }
    let typed = [("--format", formatName != nil), ("--scale-to-first", scaleToFirst)]
    guard let option = typed.first(where: { $0.1 })?.0 else { return }
    throw ValidationError(
      "\(option) has no effect with \(scheme):, which is no file or pipe; there are --pixel-format "
        + "and --size")
  }

  /// Throws if `--format` changes nothing, and is not what the names say either.
  private func checkEndings() throws {
    guard let formatName, let format = Self.catalogue.format(named: formatName) else { return }
    let named = paths.map { path in
      (Self.format(saidBy: path) ?? Self.catalogue.format(forScheme: path)?.format).map {
        (path, $0)
      }
    }
    guard !named.contains(where: { $0 == nil }),
      let other = named.compactMap(\.self).first(where: { $0.1.name != format.name })
    else { return }
    throw ValidationError(
      "--format \(formatName) has no effect: '\(other.0)' says another format, and --format is for "
        + "names that say none; leave one of the two out")
  }

  /// The format that the ending of `path` names; `nil` for `-` and where it names none.
  private static func format(saidBy path: String) -> OutputFormat? {
    path == "-" ? nil : catalogue.format(forPath: path)
  }

  private func format(of path: String) throws -> OutputFormat {
    if let (format, rest) = Self.catalogue.format(forScheme: path) {
      guard !rest.isEmpty else { throw ValidationError("'\(path)' lacks a path: \(path)PATH") }
      return format
    }
    if let format = Self.format(saidBy: path) { return format }
    if let formatName {
      guard let format = Self.catalogue.format(named: formatName) else {
        throw ValidationError("no format named '\(formatName)'; there are \(Self.formatNames)")
      }
      return format
    }
    // It describes itself.
    guard path == "-", let format = Self.catalogue.format(named: "y4m") else {
      throw ValidationError(
        "cannot tell the format of '\(path)' by its ending; say --format \(Self.formatNames)")
    }
    return format
  }

  private func hasReader(_ path: String) -> Bool {
    var status = stat()
    let isKnown =
      path == "-" ? unsafe fstat(STDOUT_FILENO, &status) == 0 : unsafe stat(path, &status) == 0
    return isKnown && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
  }

  private static var catalogue: OutputCatalogue { CommandLineTool.current.outputs }
  /// The outputs that an argument's scheme names, in a sentence each.
  private static var schemes: String {
    catalogue.formats.compactMap { format in
      format.scheme.map { "\($0):PATH is \(format.summary)." }
    }.joined(separator: " ")
  }

  static var formatNames: String { writable.map(\.name).joined(separator: ", ") }

  /// What can be written to a file or a pipe.
  private static var writable: [OutputFormat] {
    catalogue.formats.filter { $0.scheme == nil }
  }
}

extension LossTreatment: ExpressibleByArgument {}

struct LossOptions: ParsableArguments {
  /// `nil` if none was typed.
  @Option(
    name: .customLong("on-loss"),
    help: ArgumentHelp(
      """
      What to do with pictures that are not intact: conceal (the default) fills in what is missing, \
      freeze repeats the last intact picture, skip drops them, corrupt shows them as the decoder \
      returns them.
      """, valueName: "treatment"))
  var chosenTreatment: LossTreatment?

  var treatment: LossTreatment { chosenTreatment ?? .conceal }

  @Flag(
    help: """
      Write exactly one frame for each frame interval, whatever was lost, by repeating the previous \
      picture. A slow reader makes the decoder wait.
      """)
  var constantRate = false
}

extension DecoderThreads: ExpressibleByArgument {
  public init?(argument: String) {
    if argument == "auto" {
      self = .automatic
    } else if let count = Int(argument), (1...Self.most).contains(count) {
      self = .count(count)
    } else {
      return nil
    }
  }
}

/// Whether libavcodec is shut in.
enum Sandbox: String, ExpressibleByArgument, CaseIterable {
  case auto
  case require
  case off

  var box: DecoderBox? { self == .off ? nil : DecoderBox(isRequired: self == .require) }
}

struct DecoderOptions: ParsableArguments {
  /// `nil` if none was typed.
  @Option(
    name: .customLong("decoder-threads"),
    help: ArgumentHelp(
      """
      How many threads decode. auto (the default) is one while that keeps up, and for a recording; \
      then as many as there are processors. They share the slices or rows of each picture, or have \
      a picture each, which then waits for the next ones. N is so many from the beginning, up to \
      \(DecoderThreads.most), with a picture each.
      """, valueName: "auto|n"))
  var chosenThreads: DecoderThreads?

  @Option(
    help: ArgumentHelp(
      """
      Decode in a process of its own, which reaches no network and no files, and is replaced if it \
      dies, hangs or grows. auto (the default) warns where that is not possible, and decodes without; \
      require decodes nothing then; off is for debugging.
      """, valueName: "auto|require|off"))
  var sandbox = Sandbox.auto

  var threads: DecoderThreads { chosenThreads ?? .automatic }
}

struct MediaOptions: ParsableArguments {
  @Option(
    name: .customLong("sdp"),
    help: ArgumentHelp("A session description of SOURCE.", valueName: "file"), completion: .file(),
    transform: CommandLineSecrets.path)
  var sessionDescription: String?

  @Option(
    help: ArgumentHelp(
      "\(CommandLineTool.current.formats.names), or auto to recognize it by the packets.",
      valueName: "name"),
    completion: .list(CommandLineTool.current.formats.codecs.map(\.name) + ["auto"]))
  var codec = "auto"

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The RTP payload type, 0 to 127; by default any.", valueName: "n"))
  var payloadType: UInt8?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("RTP clock ticks a second; by default 90000.", valueName: "n"))
  var clockRate: UInt32?

  @Option(
    help: ArgumentHelp(
      """
      Rebuild lost packets from correction packets of payload type PT: ulpfec (RFC 5109, numbered \
      with the media), flexfec (RFC 8627) or flexfec-03; add red:PT if packets come in RED (RFC \
      2198). Not needed with SDP. Or st2022-1 (SMPTE ST 2022-1), which comes to the ports two and four \
      above that of the media.
      """, valueName: "format:pt[,red:pt]|st2022-1"))
  var fec: CorrectionArgument?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "How long to wait for a missing packet; 0 does not wait.", valueName: "ms"))
  var reorderWindow = 200

  func validate() throws {
    guard codec == "auto" || CommandLineTool.current.formats.codec(named: codec) != nil else {
      throw ValidationError(
        "no codec named '\(codec)'; there are auto, \(CommandLineTool.current.formats.names)")
    }
    guard (payloadType ?? 0) < 128 else { throw ValidationError("--payload-type must be 0 to 127") }
    guard clockRate != 0 else { throw ValidationError("--clock-rate must be at least 1") }
    if let payloadType, let fec, fec.payloadTypes.contains(payloadType) {
      throw ValidationError("--fec needs payload types that are not that of the media")
    }
    guard (0...5000).contains(reorderWindow) else {
      throw ValidationError("the reorder window is 0 to 5000 ms")
    }
  }

  /// Reads the SDP file, if one is given; that may be a pipe, which can be read only once.
  func session() throws(TransportError) -> SessionDescription? {
    guard let sessionDescription else { return nil }
    return try SessionDescription(contentsOf: sessionDescription)
  }

  /// The media as described by the options, with gaps filled from `session`, the SDP file's.
  func description(completedBy session: SessionDescription?) throws -> MediaDescription {
    var own = MediaDescription(
      payloadType: payloadType,
      encodingName: CommandLineTool.current.formats.codec(named: codec)?.encodingName,
      clockRate: clockRate)
    fec?.describe(in: &own)
    guard let sessionDescription, let session else { return own }
    guard let media = session.video ?? session.sound else {
      throw ValidationError("\(sessionDescription) describes no video and no sound")
    }
    return own.completed(by: media.description)
  }
}

extension MediaOptions {
  /// The keys in `session`, the SDP file's, for the received stream, if any.
  func keys(
    in session: SessionDescription?, _ options: SRTPOptions
  ) throws -> [SRTPKeyMaterial] {
    guard let sessionDescription, let session else { return [] }
    guard let media = session.video ?? session.sound, !media.cryptos.isEmpty else { return [] }
    let exposure = session.isExposed ? "others can read \(sessionDescription)" : nil
    guard case .fixed(let keys) = try media.protection(options, exposure: exposure).keys else {
      return []
    }
    return keys
  }
}

struct StoppingOptions: ParsableArguments {
  @Option(
    name: .customLong("frames"), parsing: .unconditional,
    help: ArgumentHelp(
      """
      Stop after this many frames or, where nothing is decoded, access units: of recordings alone, \
      those from the first intact key picture on, with which they begin.
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
      By default 10 s, and 5 s for servers that are connected to (RTSP, HTTP, TCP); forever with \
      --reconnect, and for the first packet of rtp://.
      """, valueName: "time"), transform: Seconds.read)
  var chosenTimeout: Seconds?

  /// In seconds.
  var timeout: Double? { chosenTimeout?.seconds }

  @Flag(
    help: """
      Connect again when the stream ends, breaks off or cannot be opened; outputs continue. The wait \
      grows from 0.5 s to 30 s, and is 30 s after refused credentials. A wrong URL, an untrusted \
      certificate and a missing password end the run.
      """)
  var reconnect = false

  func validate() throws {
    guard frameLimit ?? 1 >= 1 else { throw ValidationError("--frames must be at least 1") }
    for (name, seconds) in [("--duration", duration), ("--timeout", timeout)] {
      guard (0...31_536_000).contains(seconds ?? 0) else {
        throw ValidationError("\(name) must be at least 0 s, and at most one year")
      }
    }
  }
}

struct DisplayOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "One JSON object a line, every second and at the end: a file, - or fd:N.",
      valueName: "path"), completion: .file(), transform: CommandLineSecrets.path)
  var stats: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Rename the --stats file to PATH.1 when it reaches this size, such as 64MiB or a number of bytes, \
      replacing an older one, and start a new file.
      """, valueName: "size"), transform: ByteCount.readPlain)
  var statsSize: Int = 64 << 20

  @Flag(help: "Print only errors.")
  var quiet = false

  @Flag(help: "Print more: codec, format, changes of the source.")
  var verbose = false

  @Flag(help: "No live status line, even on a terminal.")
  var noProgress = false

  @Flag(
    help: """
      Show rates, losses, jitter, NAL units and events on the whole terminal instead; q ends the run.
      """)
  var monitor = false

  /// Whether a terminal gets a line that is updated.
  var wantsLine: Bool { !quiet && !noProgress && !monitor }

  func validate() throws {
    guard !quiet || !verbose else {
      throw ValidationError("--quiet and --verbose contradict each other")
    }
    guard !quiet || !monitor else {
      throw ValidationError("--quiet and --monitor contradict each other")
    }
    guard statsSize >= Self.leastStatsSize else {
      throw ValidationError("--stats-size must be at least \(Self.leastStatsSize)")
    }
  }

  /// Bytes of a few lines.
  private static let leastStatsSize = 16 << 10
}

extension SessionDescription {
  /// The first section of sound, which comes from the sender.
  fileprivate var sound: Media? { media.first { $0.kind == .audio && !$0.isBackChannel } }

  /// The sound, where there is video too.
  var soundBesideVideo: MediaDescription? { video == nil ? nil : sound?.description }

  /// The first video section that is not for retransmissions.
  fileprivate var video: Media? { media.first { $0.kind == .video && !$0.isRetransmission } }
}

import ArgumentParser
import Bitstream
import BlockingIO
import Decode
import Defragment
import Glibc
import NIOPosix
import Outputs
import RTPWire
import Receiver
import Serving
import Transports

struct RTPRecv: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rtp-recv",
    abstract: "Receives RTP video and sound; writes recordings, frames and pictures.",
    usage: "rtp-recv [OPTIONS] SOURCE",
    discussion: """
      SOURCE is where the media comes from:
      \(CommandLineTool.current.transports.help)
      With --transport, HOST:PORT alone is enough.

      EXAMPLES
        Watch a stream:
          rtp-recv udp://203.0.113.5:5004 -o - | ffplay -
        Record a camera with its sound, asking for its password, until Ctrl-C:
          rtp-recv rtsp://user@camera/stream -o camera.mp4 --reconnect
        Record it and watch it:
          rtp-recv rtsp://user@camera/stream -o camera.mp4 -o - | ffplay -
        Take one picture, or one every ten seconds, or the sound alone:
          rtp-recv rtsp://user@camera/stream -o shot.jpg
          rtp-recv rtsp://user@camera/stream -o 'shot-%Y%m%dT%H%M%SZ.jpg' --every 10s
          rtp-recv rtsp://user@camera/stream -o sound.wav
        Write 300 raw frames, with statistics:
          rtp-recv rtp://:5004 -o video.y4m --frames 300 --stats stats.jsonl
        Share frames with programs in Python and C:
          rtp-recv rtsp://user@camera/stream -o shm:camera.ring --pixel-format bgr24
        Test a stream, with an exit status that says whether all of it holds:
          rtp-recv camera.sdp --duration 10s --expect 'fps>=24, loss<=0.1%'
        Record what was received, packet by packet, and play it again later:
          rtp-recv rtp://:5004 --capture camera.pcapng
          rtp-recv camera.pcapng -o video.y4m
        Receive many cameras in one process:
          rtp-recv fleet cameras.yaml
        Find cameras, and receive one without knowing its address:
          rtp-recv discover
          rtp-recv onvif://user@camera -o camera.mp4

      EXIT STATUS
      \(ExitStatus.table)
      """,
    version: "0.1.0")

  @Argument(
    help: ArgumentHelp("The stream's URL, an SDP file, or a recording.", valueName: "source"),
    completion: .file())
  var source: String

  @Option(
    help:
      "How the stream is carried, if SOURCE does not say: \(CommandLineTool.current.transports.names.joined(separator: ", ")).",
    completion: .list(CommandLineTool.current.transports.names))
  var transport: String?

  @OptionGroup(title: "Outputs") var outputs: OutputOptions
  @OptionGroup(title: "Outputs") var playout: PlayoutOptions
  @OptionGroup(title: "Frames") var frames: FrameOptions
  @OptionGroup(title: "Recordings written") var written: RecordingOptions
  @OptionGroup(title: "The media") var media: MediaOptions
  @OptionGroup(title: "Losses") var loss: LossOptions
  @OptionGroup(title: "Decoding") var decoder: DecoderOptions
  @OptionGroup(title: "Repair") var feedback: FeedbackOptions
  @OptionGroup(title: OptionSection.udp.rawValue) var udp: DeclaredOptions<UDPSection>
  @OptionGroup(title: OptionSection.rtsp.rawValue) var rtsp: DeclaredOptions<RTSPSection>
  @OptionGroup(title: OptionSection.rtsp.rawValue) var streams: ListingOptions
  @OptionGroup(title: OptionSection.http.rawValue) var http: DeclaredOptions<HTTPSection>
  @OptionGroup(title: "Login, for RTSP, ONVIF and HTTP") var login: LoginOptions
  @OptionGroup(title: OptionSection.tls.rawValue) var tls: DeclaredOptions<TLSSection>
  @OptionGroup(title: OptionSection.srtp.rawValue) var srtp: DeclaredOptions<SRTPSection>
  @OptionGroup(title: OptionSection.recordings.rawValue)
  var recordings: DeclaredOptions<RecordingsSection>
  @OptionGroup(title: OptionSection.recordings.rawValue) var capture: CaptureOptions
  @OptionGroup(title: OptionSection.added.rawValue) var added: DeclaredOptions<AddedSection>
  @OptionGroup(title: "When to stop") var stopping: StoppingOptions
  @OptionGroup(title: "What is shown") var page: PageOptions
  @OptionGroup(title: "What is shown") var display: DisplayOptions
  @OptionGroup(title: "What is shown") var expectation: ExpectOptions

  /// Parses the command line without its passwords, since parsing errors quote it.
  static func main() async {
    _ = StandardDescriptors.closed
    // This covers keys that come in a session description.
    SRTPKeyMaterial.forbidDumpsWithFirstKey()
    // A reader that goes away is an error to report, not a reason to die.
    signal(SIGPIPE, SIG_IGN)
    // Otherwise Swift's runtime prints a backtrace, and the run goes on. A monitor that takes the
    // terminal later catches it.
    signal(SIGQUIT, SIG_DFL)
    if let unreadable = CommandLineSecrets.unreadable {
      StandardError.say(.error("argument \(unreadable) is not in UTF-8; give it another name"))
      Glibc.exit(ExitStatus.usage.rawValue)
    }
    let arguments = CommandLineSecrets.taken.arguments
    // The parser would take the name of a subcommand for the source.
    switch arguments.first {
    case FleetCommand.name: await FleetCommand.perform(Array(arguments.dropFirst()))
    case DiscoverCommand.name: await DiscoverCommand.perform(Array(arguments.dropFirst()))
    default: await perform(arguments)
    }
  }

  func validate() throws {
    try checkIsNoCommand()
    guard !StandardDescriptors.closed.contains(STDOUT_FILENO) || !usesStandardOutput else {
      throw ValidationError("standard output is closed, but something is to be written to it")
    }
    guard display.stats != "-" || !outputs.paths.contains("-") else {
      throw ValidationError(
        "standard output is for the video; write the statistics to a file or to fd:3")
    }
    try checkRecords()
    try checkListing()
    try checkTreatment()
    try playout.check(outputRequests())
  }

  /// Throws if what is a single file has a name for many.
  private func checkRecords() throws {
    let isForMany = { (path: String) in
      (try? NamePattern(path, allowsNumbers: true))?.isSingle == false
    }
    guard let path = replacedRecords.first(where: isForMany) else { return }
    throw ValidationError(
      "--stats and --capture write a single file; '\(path)' has a place for a time or a number")
  }

  /// Throws if an option was typed that says how to play, where nothing is played.
  private func checkListing() throws {
    guard streams.listing != nil else { return }
    let typed = [
      ("-o", !outputs.paths.isEmpty), ("--frames", stopping.frames != nil),
      ("--duration", stopping.duration != nil), ("--reconnect", stopping.reconnect),
      ("--stats", display.stats != nil), ("--capture", capture.path != nil),
      ("--expect", !expectation.texts.isEmpty), ("--\(PageOptions.name)", page.address != nil),
      ("--monitor", display.monitor),
    ]
    guard let option = typed.first(where: { $0.1 })?.0 else { return }
    throw UselessOption(option, "has no effect with --list, which plays nothing").noted()
  }

  /// Throws if an option was typed that is about pictures, where none are made.
  private func checkTreatment() throws {
    let requests = try outputs.requests()
    guard !requests.isEmpty, requests.allSatisfy({ !$0.format.inputs.needDecoding }) else {
      return
    }
    let typed =
      [
        ("--on-loss", loss.chosenTreatment != nil), ("--constant-rate", loss.constantRate),
        ("--decoder-threads", decoder.chosenThreads != nil),
      ] + optionsOfFrames
    guard let option = typed.first(where: { $0.1 })?.0 else { return }
    throw UselessOption(option, "has no effect with outputs whose pictures are not decoded").noted()
  }

  /// The options that say how frames are handed on, and whether they were typed.
  private var optionsOfFrames: [(name: String, isTyped: Bool)] {
    [
      ("--scale-to-first", outputs.scaleToFirst), ("--pixel-format", frames.formatName != nil),
      ("--size", frames.sizeText != nil),
    ]
  }

  /// The requested outputs.
  func outputRequests() throws -> [OutputRequest] {
    let requests = try written.applied(
      to: frames.applied(to: outputs.requests(), treatment: loss.chosenTreatment))
    guard !outputs.frameHashes || requests.contains(where: { $0.format.inputs.contains(.reports) })
    else { throw UselessOption("--frame-md5", "needs an output in .jsonl").noted() }
    let haveFrames = requests.isEmpty || requests.contains { $0.format.inputs.contains(.frames) }
    if !haveFrames, let option = optionsOfFrames.first(where: \.isTyped)?.name {
      throw UselessOption(option, "has no effect with outputs that hold no frames").noted()
    }
    return requests
  }

  private var usesStandardOutput: Bool {
    outputs.paths.contains("-") || display.stats == "-" || streams.listing != nil
  }

  func run() async throws {
    let monitor = try display.monitor ? MonitorScreen(forTerminalOf: nil) : nil
    let watched = monitor.map { monitor in MonitoredStream("") { monitor.leave() } }
    let metrics = page.address.map { _ in MetricsPage() }
    metrics?.keep([PageOptions.onlyCamera])
    let page = try await beginPage(with: metrics?.routes ?? Routes())
    let camera = page?.live.camera(
      PageOptions.onlyCamera, source: sourceOnPage, box: decoder.sandbox.box)
    let status = try await receive(showingOn: camera, watched: watched) { session in
      metrics?.begin(session, of: PageOptions.onlyCamera)
      let stop: @Sendable () -> Void = {
        monitor?.leave()
        session.stop()
      }
      monitor?.keep([watched].compactMap(\.self))
      monitor?.begin(refreshing: { await session.tellMonitor() }, quit: stop)
      return TerminationSignals(
        first: stop, again: { session.endAtOnce() }, inquiry: { session.sayFigures() })
    }
    await page?.stop()
    if status != .done { throw status.code }
  }

  /// Serves the page, if one is wanted, once it is known that the options go together.
  private func beginPage(with routes: Routes) async throws -> Page? {
    guard let address = page.address else { return nil }
    try check()
    do throws(CannotWrite) {
      return try await Page(at: address, showing: LivePage(), routes: routes)
    } catch {
      StandardError.say(.error("\(error)"))
      throw error.status.code
    }
  }

  /// What is received.
  var sourceArgument: SourceArgument {
    SourceArgument(
      CommandLineSecrets.taken.original(of: source), transports: CommandLineTool.current.transports)
  }

  /// The source without any login.
  var sourceOnPage: String {
    let transports = CommandLineTool.current.transports
    let bare = SourceArgument(source, transports: transports).bare
    return SourceArgument(bare, transports: transports).shown
  }

  /// Throws if the options do not go together, as far as that is known before anything is opened.
  func check() throws {
    try checkScopes(for: sourceArgument, declaredOptions())
    try login.check(for: sourceArgument)
    try checkFiles(source: sourceArgument.bare)
    try checkExpectations()
  }

  /// What the command writes to.
  var writtenPaths: [String] {
    outputs.paths + [display.stats, capture.path].compactMap(\.self)
  }

  /// The recordings that a run of it replaces: those of a fixed name that are no single picture.
  var replacedRecordings: [String] {
    let outputs = (try? outputRequests()) ?? []
    return outputs.filter { output in
      output.format.scheme == nil && output.format.samples != .own && output.target.isFile
    }.map(\.name)
  }

  /// What else a run of it replaces, even one in which nothing comes.
  var replacedRecords: [String] { [display.stats, capture.path].compactMap(\.self) }

  /// The files that it reads when it begins, other than the source.
  var readPaths: [String] {
    get throws {
      try [login.passwordFile, media.sessionDescription].compactMap(\.self)
        + declaredOptions().files
    }
  }

  /// Whether `source`, its own, is the file of a session description.
  func describesMedia(_ source: SourceFile) -> Bool {
    guard source.kind == .regular else { return false }
    let isDescription = try? CommandLineTool.current.transports.describesMedia(
      of: source.path, transport: transport, options: declaredOptions())
    return isDescription == true
  }

  /// Whether the source comes again after it has ended.
  var comesAgain: Bool {
    get throws {
      let source = sourceArgument
      return try CommandLineTool.current.transports.make(
        source: source.bare, transport: transport,
        options: transportOptions(for: source, described: media.session()), after: nil,
        on: MultiThreadedEventLoopGroup.singleton.next()
      ).comesAgain
    }
  }

  /// Receives to the end, and returns how that went; `begun` gets the session, and what it returns
  /// is kept until then.
  ///
  /// The page shows it as `camera`, the monitor as `watched`.
  ///
  /// - Throws: that the options do not go together.
  func receive(
    showingOn camera: LiveCamera?, watched: MonitoredStream?, begun: (Session) -> AnyObject?
  ) async throws -> ExitStatus {
    let argument = sourceArgument
    do {
      try check()
      warn(about: argument, try declaredOptions())
      let described = try media.session()
      try warn(ofSoundIn: described, beside: argument)
      if let form = streams.listing {
        try await list(argument, described: described, as: form)
        return .done
      }
      let session = try Session(
        command: self, source: argument, described: described, camera: camera,
        watched: watched)
      warnOfNothing()
      let keeper = begun(session)
      defer { withExtendedLifetime(keeper) {} }
      return await session.run()
    } catch TransportError.source(_, let fault) {
      RunFailures.say(Verdict.explanation(of: TransportError.source(argument.shown, fault)))
      return .usage
    } catch let error as Password.Failure {
      RunFailures.say("\(error)")
      return error.status
    } catch let error as CannotWrite {
      RunFailures.say("\(error)")
      return .outputFailed
    } catch let error as ThreadError {
      RunFailures.say("\(error)")
      return .failed
    } catch let error as UnsupportedFormat {
      RunFailures.say("\(media.sessionDescription ?? argument.shown): \(error)")
      return .unrecognizedMedia
    } catch let error as any TransportFault {
      let words = Verdict.words(for: error, advice: login.advice(for: argument))
      // A message about a file, which may be that of --sdp, names it.
      let isOfFile = if case .fileUnreadable? = error as? TransportError { true } else { false }
      RunFailures.say(isOfFile ? words : "\(argument.shown): \(words)")
      return ExitStatus(of: error, otherwise: .cannotOpen)
    }
  }

  /// The capture file, if one is wanted, after checking that no file is written twice or read as
  /// well.
  ///
  /// - Throws: that something would be written over what is read, or that it cannot be written.
  func openCapture(
    unlessItIs source: String, of media: [MediaDescription]
  ) throws -> CaptureFile? {
    try checkFiles(source: source)
    guard capture.path != "-" else {
      throw ValidationError("a capture is written to a file, not to standard output")
    }
    do {
      return try capture.path.map { try CaptureFile(path: $0, of: media) }
    } catch { throw CannotWrite(description: "--capture: \(error)") }
  }

  private func checkFiles(source: String) throws {
    let sources = try ([source] + readPaths).compactMap {
      FileIdentity($0, standard: STDIN_FILENO)
    }
    var written: Set<FileIdentity> = []
    for path in writtenPaths {
      guard let identity = FileIdentity(path, standard: STDOUT_FILENO) else { continue }
      guard !sources.contains(identity) else {
        throw ValidationError("\(path) is the source, and would be overwritten")
      }
      guard written.insert(identity).inserted else {
        throw ValidationError("\(path) is already an output, and would be written twice")
      }
    }
  }

  /// Prints the warnings about the options.
  private func warn(about source: SourceArgument, _ options: TransportOptions) {
    for warning in options.warnings { StandardError.say(.warning(warning)) }
    if source.password != nil, !display.quiet, CommandLineSecrets.ofCamera == nil {
      StandardError.say(
        .warning(
          "a password in the command line can be seen by others while the program starts, and "
            + "stays in the shell's history; try --password-file"))
    }
  }

  private func list(
    _ source: SourceArgument, described: SessionDescription?, as form: StreamList.Form
  ) async throws {
    let listing = try await CommandLineTool.current.transports.describe(
      source: source.bare, transport: transport,
      options: transportOptions(for: source, described: described),
      on: MultiThreadedEventLoopGroup.singleton.next())
    let list = StreamList(
      of: listing, media: try mediaDescription(completedBy: described, wantsSound: true))
    try StandardOutput.write(list.shown(as: form))
  }
}

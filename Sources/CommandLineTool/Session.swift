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
import Reception
import Serving
import Synchronization
import Transports

/// One run of the command: the receiver, its display, and its exit status.
final class Session: Sendable {
  /// Why no run of a recording reconnects.
  static let reconnectsForNothing = UselessOption(
    "--reconnect", "is for live sources; a recording or a pipe ends where it ends")

  private let command: RTPRecv
  private let source: SourceArgument
  private let isPassive: Bool
  private let comesAgain: Bool
  private let isLive: Bool
  private let canAskForKeyPictures: Bool
  private let rules: [Expectation]
  private let hints: SourceHints
  private let outputs: [OutputRequest]
  /// Whether the packets are recorded, and nothing is made of them.
  private let onlyRecords: Bool
  /// Whether packets gather in the kernel, because nobody waits for what is written.
  private let gathers: Bool
  private let receiver: Receiver
  private let capture: CaptureFile?
  private let writer: StatisticsWriter?
  /// What it is on the page.
  private let camera: LiveCamera?
  /// What the page was shown last.
  private let shown = Mutex(ShownFigures())
  /// What the monitor knows of it.
  private let watched: MonitoredStream?
  private let started = Mutex<ContinuousClock.Instant?>(nil)
  /// Whether a second signal ends the process at once.
  private let isForced = Mutex(false)
  /// The counters of the last line of statistics.
  private let interval = Mutex(IntervalCounters())

  /// How long a reader of standard output may take for the result of `--expect`.
  private static let patienceWithReader: Duration = .seconds(2)
  private static let statisticsInterval: Duration = .seconds(1)
  /// How long packets of recordings and other files may gather before they are read: less than the
  /// second that a crash may cost, by a picture that has not ended and the time until it is
  /// written.
  private static let gatheringTime: Duration = .milliseconds(900)
  /// From one look at the receiver to the next where much happens: with a line to show, without,
  /// and while recordings gather.
  ///
  /// What becomes of files is said at once.
  private static let shortestPause: Duration = .milliseconds(200)
  private static let shortestSilentPause: Duration = .seconds(1)
  private static let shortestPauseOfRecording: Duration = .seconds(3)
  /// The same where nothing happens, but the line shows rates, or a time that runs out.
  private static let pauseOfMovingLine: Duration = .seconds(1)
  /// The same where nothing happens: some counters tell nobody.
  private static let longestPause: Duration = .seconds(30)

  /// Prepares the run; `described` is the session description of `source` that was given, if any,
  /// `camera` shows it on the page, and `watched` in the monitor.
  init(
    command: RTPRecv, source: SourceArgument, described: SessionDescription?,
    camera: LiveCamera?, watched: MonitoredStream?
  ) throws {
    self.command = command
    (self.camera, self.watched) = (camera, watched)
    self.source = source
    var transportOptions = try command.transportOptions(
      for: source, described: described, isShown: camera != nil)
    let playoutRate = command.playout.takeRate(from: &transportOptions)
    let options = transportOptions
    hints = SourceHints(
      try CommandLineTool.current.transports.hints(
        of: source.bare, transport: command.transport, options: options),
      source: source.shown, options: options)
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let wantsSound = try command.wantsSound(isShown: camera != nil)
    let media = try command.mediaDescription(completedBy: described, wantsSound: wantsSound)
    canAskForKeyPictures = try command.canAskForKeyPictures(of: media, options)
    let sound = described.flatMap {
      command.media.soundBesideVideo(in: $0, wantsSound: wantsSound)
    }
    capture = try command.openCapture(
      unlessItIs: source.bare, of: [media] + [sound].compactMap(\.self))
    let makeTransport: Receiver.TransportFactory = { [capture] former in
      let transport = try CommandLineTool.current.transports.make(
        source: source.bare, transport: command.transport, options: options, after: former,
        on: eventLoop)
      return capture.map { CapturingTransport(transport, to: $0) } ?? transport
    }
    // The properties are read from a transport that is not opened.
    let transport = try makeTransport(nil)
    isPassive = transport.isPassive
    comesAgain = transport.comesAgain
    isLive = transport.clock.isLive
    rules = try command.expectation.rules()
    guard comesAgain || !command.stopping.reconnect else {
      throw Self.reconnectsForNothing.noted()
    }

    outputs = try command.outputRequests()
    onlyRecords = capture != nil && outputs.isEmpty
    var configuration = command.receiverConfiguration(
      media: media, sound: sound, outputs: outputs, onlyRecords: onlyRecords)
    configuration.playoutRate = playoutRate
    let showsProgress =
      watched != nil || StatusLine(isWanted: command.display.wantsLine).isEnabled
    let isMeasured = capture != nil || command.display.stats != nil || !rules.isEmpty
    // Nobody waits for what a file gets, and nobody sees how it arrived.
    gathers =
      !showsProgress && !isMeasured && !outputs.isEmpty
      && outputs.allSatisfy(\.isForLater)
    if gathers { configuration.gatheringTime = Self.gatheringTime }
    if let watched {
      configuration.onlookers.append(
        Receiver.Configuration.Onlooker(wantsMedia: false) { watched.take($0) })
    }
    if let camera {
      configuration.onlookers.append(
        Receiver.Configuration.Onlooker(
          wantsMedia: true, onAccessUnit: { camera.take($0) }, onSound: { camera.take($0) }))
    }
    receiver = try Receiver(configuration: configuration, transport: makeTransport)
    writer = try command.display.stats.map {
      try StatisticsWriter($0, limit: command.display.statsSize)
    }
    watched?.begin(source.shown, decodes: decodes)
  }

  /// Ends the run in order; from any thread.
  func stop() { receiver.stop() }

  /// Prints the figures so far; from any thread.
  func sayFigures() {
    Task(executorPreference: CommandLineTool.tasks) { [receiver, outputs] in
      StandardError.say(Summary.line(of: await receiver.status(), outputs: outputs))
    }
  }

  /// Its figures so far, and after its end.
  var status: Receiver.Status { get async { await receiver.status() } }

  /// Where its files are, with the formats of the outputs that write them.
  var folders: [(format: String, folder: String)] {
    outputs.compactMap { output in
      output.target.folder.map { (output.format.name, $0) }
    }
  }

  /// Tells the monitor where it stands.
  func tellMonitor() async {
    guard let watched, let started = started.withLock(\.self) else { return }
    watched.note(await receiver.status(), at: started.duration(to: .now))
  }

  /// Whether the source is connected.
  var isConnected: Bool {
    get async { await receiver.status().connection.isOpen }
  }

  /// Receives to the end, prints the result, and returns the exit status.
  func run() async -> ExitStatus {
    let started = ContinuousClock.now
    self.started.withLock { $0 = started }
    camera?.begin(
      ask: { [self] in
        let status = await receiver.status()
        return shown.withLock { $0.figures(of: status, at: started.duration(to: .now)) }
      }, attention: { [receiver] in receiver.attend($0) })
    defer { camera?.end() }
    let report = await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.showProgress(since: started) }
      let report = await receiver.run()
      group.cancelAll()
      return report
    }
    watched?.end()
    // What ends the process says why.
    if isForced.withLock(\.self) { await Self.waitForExit() }
    // A disk that stalls is waited for once, and not for the capture and then for the statistics.
    let diskDeadline = ContinuousClock.now + FileWriter.longestStoring
    let captured = await capture?.finish()
    let elapsed = started.duration(to: .now)
    let expectations =
      rules.isEmpty
      ? nil
      : ExpectationReport(
        rules, of: MeasuredRun(status: report.status, decodes: decodes, isLive: isLive))
    write(report.status, elapsed: elapsed, report: report, expectations: expectations)
    let isOfFleet = CommandLineSecrets.ofCamera != nil
    let verdict = Verdict(
      of: report,
      wish: Verdict.Wish(
        source: source.shown, frames: command.stopping.frames,
        duration: command.stopping.duration,
        loginAdvice: command.login.advice(for: source),
        isCodecChosen: command.media.codec != .automatic, payloadType: command.media.payloadType,
        onlyRecords: onlyRecords,
        comesAgain: comesAgain, isLive: isLive, canAskForKeyPictures: canAskForKeyPictures,
        decodes: decodes,
        isDescribed: command.media.sessionDescription != nil, isOfFleet: isOfFleet, hints: hints))
    let hasReceived = report.status.transport.delivered > 0
    let isStopped = if case .stopped = report.reason { true } else { false }
    var complaint = verdict.complaint
    var isRepetition = false
    if isOfFleet, verdict.status == .done {
      // What a camera of a fleet was waiting for when it was stopped has been said before.
      complaint = nil
    } else if isOfFleet, !isStopped, let words = complaint?.words {
      complaint = RunFailures.remark(on: words, after: hasReceived ? elapsed : .zero)
      isRepetition = complaint == nil
    }
    if !command.display.quiet, !isRepetition {
      if hasReceived { StandardError.say(Summary.line(of: report.status, outputs: outputs)) }
      for output in report.outputs {
        let name = output.name.shownPath
        for note in output.notes { StandardError.say("\(name): \(note.words)") }
      }
    }
    if let complaint { StandardError.say(complaint) }
    // The page keeps as much as it has room for, and is told each time.
    if let complaint = verdict.complaint, !isOfFleet || verdict.status != .done {
      camera?.note(complaint.words, isWarning: true)
    }
    if let remark = verdict.remark, !command.display.quiet { StandardError.say(remark) }
    var status = verdict.status
    if let complaint = captured?.complaint(about: command.capture.path ?? "") {
      StandardError.say(complaint)
      if status == .done { status = .outputFailed }
    }
    await writer?.finish(until: diskDeadline)
    if let complaint = writer?.takeComplaint() { StandardError.say(complaint) }
    if status == .done { status = writer?.status ?? .done }
    if let path = command.display.stats, writer?.isLeftAsItWas == true, !isOfFleet,
      !command.display.quiet
    {
      StandardError.say("\(path) is left as it was, because nothing was received")
    }
    guard let expectations else { return status }
    let told = tell(expectations)
    return status == .done ? told : status
  }

  /// Whether frames come out, and not access units alone.
  private var decodes: Bool { outputs.areDecoded(isShown: camera != nil) }

  /// Says what of `expectations` does not hold, prints the result unless the statistics have it,
  /// and returns the exit status.
  private func tell(_ expectations: ExpectationReport) -> ExitStatus {
    for complaint in expectations.complaints { StandardError.say(complaint) }
    guard writer?.isLeftAsItWas ?? true else { return expectations.status }
    var line = JSONLine()
    line.add("expect", expectations.json)
    let isFree =
      !command.outputs.paths.contains("-") && !StandardDescriptors.closed.contains(STDOUT_FILENO)
    let file = FileWriter(borrowing: isFree ? STDOUT_FILENO : STDERR_FILENO)
    let deadline = WriteDeadline(in: Self.patienceWithReader)
    guard let failure = file.write(line.text + "\n", until: deadline), isFree else {
      return expectations.status
    }
    StandardError.say("the result of --expect cannot be written: \(failure.reason)")
    return failure == .readerGone ? .readerGone : .outputFailed
  }

  /// Ends all outputs at once, each after something whole.
  func abandon() async { await receiver.abandon() }

  /// Ends the process, whatever still waits; the run may end meanwhile, because its outputs do.
  func endAtOnce() {
    isForced.withLock { $0 = true }
    Task(executorPreference: CommandLineTool.tasks) { [receiver] in
      await receiver.abandon()
      StandardError.say("ended at once by a second signal")
      exit(ExitStatus.forced.rawValue)
    }
  }

  private static func waitForExit() async {
    await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  /// Writes a line of statistics, if wanted.
  private func write(
    _ status: Receiver.Status, elapsed: Duration, report: Receiver.Report? = nil,
    expectations: ExpectationReport? = nil
  ) {
    guard let writer else { return }
    let former = interval.withLock { interval in
      defer { interval = IntervalCounters(status, at: elapsed) }
      return interval
    }
    writer.write(
      Statistics.line(
        of: status, since: former,
        elapsed: elapsed, report: report, expectations: expectations),
      hasReceived: status.transport.delivered > 0)
  }

  /// Shows the live line and the news, and writes the statistics, until cancelled.
  ///
  /// What changes is looked at when something has happened, and the statistics come once a second.
  private func showProgress(since started: ContinuousClock.Instant) async {
    let display = command.display
    var line = StatusLine(isWanted: display.wantsLine)
    // Nobody is told anything.
    if display.quiet, !line.isEnabled, writer == nil, camera == nil { return }
    var narrator = narrator(isVerbose: display.verbose, isQuiet: display.quiet)
    var pageNarrator = camera.map { _ in
      self.narrator(isVerbose: true, isQuiet: false, isForPage: true)
    }
    func tell(_ status: Receiver.Status) {
      let now = Instant.now
      for remark in narrator.remarks(on: status, at: now) { line.say(remark) }
      for remark in pageNarrator?.remarks(on: status, at: now) ?? [] {
        camera?.note(remark.words, isWarning: remark.isWarning)
      }
    }
    var rates = Rates()
    var nextStatistics = Self.statisticsInterval
    var hasSaidCapture = display.quiet
    while !Task.isCancelled {
      let status = await receiver.status()
      let elapsed = started.duration(to: .now)
      tell(status)
      if !hasSaidCapture, let counters = capture?.counters, counters.failure != nil {
        hasSaidCapture = true
        let words = counters.complaint(about: command.capture.path ?? "")
        words.map { line.say(.warning($0)) }
      }
      if line.isEnabled {
        rates.note(status, at: elapsed)
        line.show(
          Summary.live(status, rates: rates, outputs: outputs, decodes: decodes, hints: hints))
      }
      if writer != nil, elapsed >= nextStatistics {
        write(status, elapsed: elapsed)
        while nextStatistics <= elapsed { nextStatistics += Self.statisticsInterval }
      }
      if let complaint = writer?.takeComplaint() { line.say(Remark(complaint)) }
      var pause = Self.longestPause
      if line.isEnabled, !rates.areZero || status.connection.phase != .connected {
        pause = Self.pauseOfMovingLine
      }
      if writer != nil { pause = min(pause, nextStatistics - elapsed) }
      let shortest =
        line.isEnabled
        ? Self.shortestPause
        : gathers ? Self.shortestPauseOfRecording : Self.shortestSilentPause
      await receiver.waitForActivity(notBefore: min(pause, shortest), atMost: pause)
    }
    // News since the last round.
    tell(await receiver.status())
    if let remark = narrator.remarkAtEnd() { line.say(remark) }
    if let remark = pageNarrator?.remarkAtEnd() { camera?.note(remark.words, isWarning: false) }
    line.clear()
  }

  private func narrator(isVerbose: Bool, isQuiet: Bool, isForPage: Bool = false) -> Narrator {
    Narrator(
      isVerbose: isVerbose, isQuiet: isQuiet,
      // The page keeps what it is told.
      saysAttempts: isVerbose && !isForPage, isAsking: !isPassive,
      isCodecChosen: command.media.codec != .automatic,
      isDescribed: command.media.sessionDescription != nil,
      canAskForKeyPictures: canAskForKeyPictures,
      countsFrames: command.stopping.frames != nil,
      recordsSound: outputs.contains {
        $0.format.inputs.contains(.sound) && $0.format.inputs != .sound
      }, isSoundAsked: outputs.contains { $0.format.inputs == .sound }, hints: hints)
  }
}

extension OutputNote {
  fileprivate var words: String {
    switch self {
    case .assumedFrameRate(let rate):
      "the stream does not say its frame rate; the file says \(rate.value.formatted(digits: 0))"
    case .otherFrameRate(let said, let shown):
      "the file says \(said.formatted(digits: 1)) frames a second, but they came at "
        + "\(shown.formatted(digits: 1)), or at a rate that varies; --constant-rate keeps time"
    case .assumedMatrix(let code):
      "the stream does not say how its colours are coded; "
        + "\(code == 1 ? "BT.709 (as usual from 720 lines on)" : "BT.601 (as usual below 720 lines)") "
        + "was assumed"
    case .samples(let rate, let channels):
      "16-bit samples, low byte first, at \(rate) Hz, \(channels.counted("channel"))"
    }
  }
}

import Foundation
import Glibc
import Impairment
import NIOCore
import RTPSend
import RTPWire
import Transports

/// One run of the program: starts the sender, reports news, and stops on a signal.
struct Session {
  let command: RTPSendCommand

  func run() async -> ExitStatus {
    do {
      try await send()
      return .done
    } catch {
      say("\(error)", isError: true)
      return ExitStatus(error)
    }
  }

  private func send() async throws {
    let seed = command.impairments.seed ?? UInt64.random(in: 0...UInt64(UInt32.max))
    if let count = command.load.streams { return try await send(count, seed: seed) }
    // Before anything is said or sent: whoever hears it may end the run at once.
    let signals = TerminationSignals()
    defer { signals.cancel() }
    let lives = try command.pairs.map { try liveStream($0.source, $0.destination) }
    defer { for live in lives { live?.stop() } }
    if lives.contains(where: { $0 != nil }) {
      signals.call { for live in lives { live?.stop() } }
    }
    let isServer = if case .serveRTSP = command.destination { true } else { false }
    // Clients of RTSP wait for what they ask for, and for nothing else.
    for live in isServer ? [] : lives.compactMap({ $0 }) {
      guard try await isBegun(live) else { return }
    }
    let log = try command.impairments.log.map { try VerdictLog(path: $0) }
    let onVerdicts = log.map { log in { @Sendable (verdicts: [Verdict]) in log.write(verdicts) } }
    let key = try command.protection.key()
    let news = ClientNews(isQuiet: command.output.quiet)
    // A source that cannot be opened must be reported before any client comes.
    let sender: Sender
    var description: RTPSend.SessionDescription?
    if isServer {
      let configuration = try server(seed: seed, lives, key, onVerdicts)
      DescriptorLimit.raise()
      sender = try await Sender.serve(configuration) { news.tell($0) }
    } else {
      var (configuration, session) = try stream(
        command.source, to: command.destination, seed: seed, lives.first ?? nil, key)
      configuration.onVerdicts = onVerdicts
      sender = try await Sender.start(configuration) { news.tell($0) }
      description = session
    }
    signals.call { sender.stop() }
    if let path = command.output.sdp, var description {
      description.address = sender.remoteAddress ?? sender.localAddress
      do {
        try OutputError.write(description.text, to: path)
      } catch {
        sender.stop()
        throw error
      }
    }
    if sender.remoteAddress == nil {
      try OutputError.write("listening on \(sender.localAddress.hostAndPort)\n", to: "-")
    }
    let report: SendReport
    do {
      defer { news.finish() }
      report = try await sender.finished()
    }
    try log?.finish()
    try tell(report, seed: seed)
  }

  private func tell(_ report: SendReport, seed: UInt64) throws {
    say(Summary(report, seed: seed).line)
    if let path = command.output.stats {
      try OutputError.write(Summary(report, seed: seed).json, to: path)
    }
  }

  /// Sends many streams at once.
  private func send(_ count: Int, seed: UInt64) async throws {
    var dice = SplitMix64(seed: seed)
    var pattern = command.pattern.configuration(command.media)
    let isPattern = command.source == "pattern"
    let groups = 2 * (pattern.groupLength ?? pattern.framesPerSecond)
    pattern.frameLimit = min(command.media.frames ?? groups, groups)
    var feed = feed(command.source, command.packets.stream(&dice))
    if isPattern { feed.recipe = .pattern(pattern) }
    feed.repetitions = 1
    feed.frameLimit = nil
    var configuration = LoadConfiguration(feed: feed, count: count)
    configuration.repetitions = isPattern ? nil : command.media.repetitions.count
    configuration.frameLimit = command.media.frames
    configuration.seed = dice.next()
    configuration.sendsRTCP = !command.packets.noRtcp
    let sender = try LoadSender.start(configuration, to: command.destination)
    let signals = TerminationSignals { sender.stop() }
    defer { signals.cancel() }
    try tell(try await sender.finished(), seed: seed)
  }

  /// How a source is sent, and its description, in which the address is still to be set.
  ///
  /// Sound that was asked for has to be there if it `needsSound`.
  func stream(
    _ source: String, to destination: Destination, seed: UInt64, _ live: LiveStream?,
    _ key: SRTPKeyMaterial?, needsSound: Bool = true
  ) throws -> (SenderConfiguration, RTPSend.SessionDescription) {
    var sound: SoundDescription?
    do {
      sound = try soundDescription(source, destination, live)
    } catch let error as SendError where error == .noSound(path: source) && !needsSound {
      // The pictures are sent alone.
    }
    let recipe = live.map { .live($0) } ?? recipe(source)
    let video = command.sound.noVideo ? nil : try StreamDescription(of: recipe)
    if let video { try command.packets.packetization.check(for: video.codec) }
    let configuration = try configuration(source, destination, seed: seed, sound, live, key)
    var session = RTPSend.SessionDescription(
      video, payloadType: command.packets.payloadType,
      packetization: command.packets.packetization,
      address: try SocketAddress(ipAddress: "0.0.0.0", port: 0),
      multiplexesRTCP: configuration.sendsRTCP && configuration.controlOffset == 0,
      isProtected: command.protection.keyFile != nil,
      correction: command.packets.fec?.correction)
    session.feedback = command.feedback.configuration
    session.sound = sound
    session.quirks = try command.impairments.plan(over: Impairments()).quirksEver
    return (configuration, session)
  }

  private func recipe(_ source: String) -> SourceRecipe {
    guard source == "pattern" else {
      return .file(path: source, framesPerSecond: command.media.fps)
    }
    var pattern = pattern
    if command.packets.packetization == .single { pattern.sliceLimit = command.packets.packetSize }
    return .pattern(pattern)
  }

  private var pattern: PatternConfiguration {
    var pattern = command.pattern.configuration(command.media)
    if let plan = try? command.impairments.plan(over: Impairments()) {
      pattern.plan = plan.stretched(by: command.pace.pacing.speed)
    }
    return pattern
  }

  private func soundDescription(
    _ source: String, _ destination: Destination, _ live: LiveStream?
  ) throws -> SoundDescription? {
    guard let recipe = soundRecipe(source, live) else { return nil }
    var description = try SoundDescription(
      of: recipe, payloadType: 97, packetization: command.sound.packetization(command.packets),
      portOffset: command.sound.portOffset(destination))
    guard command.sound.audioInterleave == 1 || description.format.coding.isAAC else {
      throw SendError.invalid(
        option: "--audio-interleave",
        reason: "is for AAC, and the file has \(description.format.map)")
    }
    description.payloadType = command.sound.payloadType(
      of: description.format, command.packets, command.feedback)
    return description
  }

  private func configuration(
    _ source: String, _ destination: Destination, seed: UInt64, _ sound: SoundDescription?,
    _ live: LiveStream?, _ key: SRTPKeyMaterial?
  ) throws -> SenderConfiguration {
    var dice = SplitMix64(seed: seed)
    var feed = feed(source, command.packets.stream(&dice))
    if let live { feed.recipe = .live(live) }
    feed.key = key
    feed.rollover = command.protection.rollover
    let impairments = try command.impairments.impairments
    // That of the networks.
    _ = dice.next()
    var tracks: [TrackConfiguration] = []
    if !command.sound.noVideo {
      feed.period = try period(source, sound)
      let plan = try command.impairments.plan(over: impairments)
      tracks.append(TrackConfiguration(.video(feed), plan: plan))
    }
    if let sound, let recipe = soundRecipe(source, live) {
      // The options set the numbers of the video, if there is any.
      var stream =
        command.sound.noVideo
        ? feed.stream
        : RTPStream.Configuration(
          ssrc: UInt32(truncatingIfNeeded: dice.next()),
          initialSequence: UInt16(truncatingIfNeeded: dice.next()),
          initialTimestamp: UInt32(truncatingIfNeeded: dice.next()))
      stream.payloadType = sound.payloadType
      if !command.sound.noVideo, stream.ssrc == feed.stream.ssrc { stream.ssrc &+= 1 }
      var own = PacketFeed.SoundConfiguration(recipe: recipe, stream: stream)
      own.clockDeviation = command.sound.clockDeviation
      own.packetization = sound.packetization
      (own.key, own.rollover) = (feed.key, feed.rollover)
      if case .file = recipe {
        own.repetitions = feed.repetitions
        own.period = feed.period
      }
      tracks.append(
        TrackConfiguration(
          .sound(own),
          plan: try command.impairments.plan(over: command.sound.impairments(impairments)),
          portOffset: sound.portOffset))
    }
    var configuration = SenderConfiguration(tracks: tracks, destination: destination)
    if sound != nil, case .send = destination { configuration.controlOffset = 1 }
    configuration.pacing = command.pace.pacing
    configuration.seed = ImpairmentOptions.networkSeed(of: seed)
    configuration.sendsRTCP = !command.packets.noRtcp
    configuration.hello = command.listening.hello?.bytes ?? Array("Hello".utf8)
    configuration.heartbeatInterval = .seconds(command.listening.heartbeatInterval)
    configuration.servesOnce = command.listening.once
    return configuration
  }

  /// The video as the options describe it, but for keys.
  private func feed(
    _ source: String, _ stream: RTPStream.Configuration
  ) -> PacketFeed.Configuration {
    var feed = PacketFeed.Configuration(recipe: recipe(source), stream: stream)
    feed.repetitions = command.media.repetitions.count
    feed.frameLimit = command.media.frames
    feed.stripsParameterSets = command.media.stripParameterSets
    feed.packetization = command.packets.packetization
    feed.aggregates = !command.packets.noAggregation
    feed.matrix = command.packets.fec?.matrix
    // RED takes a byte of each payload.
    let isEnclosed = command.packets.fec?.correction?.redundancyPayloadType != nil
    feed.payloadLimit = max(16, command.packets.packetSize - (isEnclosed ? 1 : 0))
    feed.feedback = command.feedback.configuration
    return feed
  }

  /// How far apart repetitions of a file begin, so that its sound and its pictures stay together.
  private func period(_ source: String, _ sound: SoundDescription?) throws -> Int64? {
    guard sound != nil, source != "pattern", command.media.repetitions.count != 1 else {
      return nil
    }
    return try SourceRecipe.duration(ofFile: source)
  }

  func say(_ line: String, isError: Bool = false) {
    guard isError || !command.output.quiet else { return }
    Self.complain(line)
  }

  /// Writes a line to standard error; if that is closed, sending continues.
  ///
  /// Names of files are among the words, and whoever may write to a folder chooses them: no such
  /// name controls the terminal, or begins a line of its own.
  static func complain(_ line: String) { complain([line]) }

  /// The same for several lines, the first of which says who writes.
  static func complain(_ lines: [String]) {
    let text = "rtp-send: " + lines.map(\.withoutControls).joined(separator: "\n") + "\n"
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}

/// A file that was asked for cannot be written.
struct OutputError: Error, CustomStringConvertible {
  let path: String
  let reason: String

  var description: String { "cannot write \(path): \(reason)" }

  /// Writes a file, or to standard output where the path is `-`.
  static func write(_ text: String, to path: String) throws(OutputError) {
    let isStandard = path == "-"
    try write(
      text, to: isStandard ? .standardOutput : open(path),
      called: isStandard ? "standard output" : path)
  }

  /// Writes to an open file, with the kernel's reason where that fails.
  static func write(
    _ text: String, to file: FileHandle, called path: String
  ) throws(OutputError) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.write(file.fileDescriptor, $0.baseAddress, $0.count)
      }
      guard count >= 0 || errno == EINTR else { throw OutputError(path: path) }
      rest = rest.dropFirst(max(count, 0))
    }
  }

  /// A new file.
  static func open(_ path: String) throws(OutputError) -> FileHandle {
    let number = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard number >= 0 else { throw OutputError(path: path) }
    return FileHandle(fileDescriptor: number, closeOnDealloc: true)
  }
}

extension OutputError {
  /// With the kernel's reason; Foundation says only that the operation could not be completed.
  fileprivate init(path: String) {
    self.init(path: path, reason: unsafe String(cString: strerror(errno)))
  }
}

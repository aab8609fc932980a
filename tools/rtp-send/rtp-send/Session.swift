import Dispatch
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
    // A source that cannot be opened must be reported before anybody says hello.
    let sound = try soundDescription()
    let video = command.sound.noVideo ? nil : try StreamDescription(of: recipe)
    if let video { try command.packets.packetization.check(for: video.codec) }
    var configuration = try configuration(seed: seed, sound)
    let log = try command.impairments.log.map { try VerdictLog(path: $0) }
    if let log { configuration.onVerdicts = { log.write($0) } }
    let sender = try await Sender.start(configuration) { event in
      switch event {
      case .clientArrived(let client): say("sending to \(client.hostAndPort)")
      case .clientLeft(let client): say("\(client.hostAndPort) has gone")
      case .clientIgnored(let client):
        say("ignoring the hello of \(client.hostAndPort) while another client is served")
      }
    }
    let signals = TerminationSignals { sender.stop() }
    defer { signals.cancel() }
    if let path = command.output.sdp {
      var session = RTPSend.SessionDescription(
        video, payloadType: command.packets.payloadType,
        packetization: command.packets.packetization,
        address: sender.remoteAddress ?? sender.localAddress,
        multiplexesRTCP: configuration.sendsRTCP && configuration.controlOffset == 0,
        isProtected: command.protection.keyFile != nil,
        correction: command.packets.fec?.correction)
      session.feedback = command.feedback.configuration
      session.sound = sound
      do {
        try OutputError.write(session.text, to: path)
      } catch {
        sender.stop()
        throw error
      }
    }
    if sender.remoteAddress == nil {
      try OutputError.write("listening on \(sender.localAddress.hostAndPort)\n", to: "-")
    }
    let report = try await sender.finished()
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
    var feed = feed(command.packets.stream(&dice))
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

  private var recipe: SourceRecipe {
    guard command.source == "pattern" else {
      return .file(path: command.source, framesPerSecond: command.media.fps)
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

  private func soundDescription() throws -> SoundDescription? {
    guard let recipe = command.sound.recipe(command.source, command.media) else { return nil }
    var description = try SoundDescription(
      of: recipe, payloadType: 97, packetization: command.sound.packetization(command.packets),
      portOffset: command.sound.portOffset(command.destination))
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
    seed: UInt64, _ sound: SoundDescription?
  ) throws -> SenderConfiguration {
    var dice = SplitMix64(seed: seed)
    var feed = feed(command.packets.stream(&dice))
    if let path = command.protection.keyFile {
      let keys = try SRTPKeySource.file(path).keys()
      guard let key = keys.first else { throw SRTPError.keySource(path, .empty) }
      feed.key = key
      feed.rollover = command.protection.rollover
    }
    let impairments = try command.impairments.impairments
    let networkSeed = dice.next()
    var tracks: [TrackConfiguration] = []
    if !command.sound.noVideo {
      feed.period = try period(sound)
      let plan = try command.impairments.plan(over: impairments)
      tracks.append(TrackConfiguration(.video(feed), plan: plan))
    }
    if let sound, let recipe = command.sound.recipe(command.source, command.media) {
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
    var configuration = SenderConfiguration(tracks: tracks, destination: command.destination)
    if sound != nil, case .send = command.destination { configuration.controlOffset = 1 }
    configuration.pacing = command.pace.pacing
    configuration.seed = networkSeed
    configuration.sendsRTCP = !command.packets.noRtcp
    configuration.hello = command.listening.hello?.bytes ?? Array("Hello".utf8)
    configuration.heartbeatInterval = .seconds(command.listening.heartbeatInterval)
    configuration.servesOnce = command.listening.once
    return configuration
  }

  /// The video as the options describe it, but for keys.
  private func feed(_ stream: RTPStream.Configuration) -> PacketFeed.Configuration {
    var feed = PacketFeed.Configuration(recipe: recipe, stream: stream)
    feed.repetitions = command.media.repetitions.count
    feed.frameLimit = command.media.frames
    feed.stripsParameterSets = command.media.stripParameterSets
    feed.packetization = command.packets.packetization
    feed.aggregates = !command.packets.noAggregation
    feed.matrix = command.packets.fec?.matrix
    feed.payloadLimit = command.packets.packetSize
    feed.feedback = command.feedback.configuration
    return feed
  }

  /// How far apart repetitions of a file begin, so that its sound and its pictures stay together.
  private func period(_ sound: SoundDescription?) throws -> Int64? {
    guard sound != nil, command.source != "pattern", command.media.repetitions.count != 1 else {
      return nil
    }
    return try SourceRecipe.duration(ofFile: command.source)
  }

  private func say(_ line: String, isError: Bool = false) {
    guard isError || !command.output.quiet else { return }
    Self.complain(line)
  }

  /// Writes to standard error; if that is closed, sending continues.
  static func complain(_ line: String) {
    try? FileHandle.standardError.write(contentsOf: Data("rtp-send: \(line)\n".utf8))
  }
}

/// A file that was asked for cannot be written.
struct OutputError: Error, CustomStringConvertible {
  let path: String
  let reason: String

  var description: String { "cannot write \(path): \(reason)" }

  /// Writes a file, or to standard output where the path is `-`.
  static func write(_ text: String, to path: String) throws {
    var file = FileHandle.standardOutput
    if path != "-" {
      file = try open(path)
    }
    do {
      try file.write(contentsOf: Data(text.utf8))
    } catch {
      throw OutputError(
        path: path == "-" ? "standard output" : path, reason: error.localizedDescription)
    }
  }

  /// A new file.
  static func open(_ path: String) throws(OutputError) -> FileHandle {
    let number = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    // Foundation says only that the operation could not be completed.
    guard number >= 0 else {
      throw OutputError(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    return FileHandle(fileDescriptor: number, closeOnDealloc: true)
  }
}

/// SIGINT and SIGTERM, which ask for an orderly end.
final class TerminationSignals {
  private let sources: [any DispatchSourceSignal]

  /// Calls `stop` for every such signal, on a separate queue.
  init(_ stop: @escaping @Sendable () -> Void) {
    // A reader of standard output that goes away is an error to be reported, not a death.
    signal(SIGPIPE, SIG_IGN)
    let queue = DispatchQueue(label: "rtp-send.signals")
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler(handler: stop)
      source.resume()
      return source
    }
  }

  func cancel() { for source in sources { source.cancel() } }
}

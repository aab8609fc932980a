import ArgumentParser
import Foundation
import Impairment
import RTPSend
import Transports

@main
struct RTPSendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rtp-send",
    abstract: "Sends video and sound over RTP, well or badly.",
    usage: """
      rtp-send [OPTIONS] SOURCE DESTINATION [SOURCE DESTINATION …]
      rtp-send proxy [OPTIONS] LISTEN TARGET
      """,
    discussion: """
      SOURCE is what is sent, H.264 or H.265:
        FILE                   an elementary stream (.h264 .264 .h265 .265 .hevc), or
                               the video of any file that libavformat reads (.mp4
                               .mkv .ts …)
        FILE --follow          a file that is still being written: Annex B, MP4 in
                               fragments, or MP4 without its index. What comes is
                               sent at once, from the newest key picture on. Then
                               comes the next file: the one that takes the name, or
                               that fits a pattern such as 'cam-%05d.mp4',
                               'cam-%H%M.mp4' or 'cam-*.h264'
        /dev/videoN            a camera (V4L2), encoded like the pattern where it
                               does not encode itself
        -                      standard input: an elementary stream, MPEG-TS,
                               Matroska, MP4 in fragments; an encoder that is too
                               fast waits. With --fast, and to several clients,
                               what comes is sent at once
        pattern                a moving test pattern; every frame carries its number,
                               and the first tenth of every second has a flash

      DESTINATION is where it goes:
        udp://HOST:PORT        send to that address; sound goes two ports above, and
                               RTCP with it one above each
        listen://[ADDR]:PORT   wait for a hello on that port, and send to whoever
                               said it as long as heartbeats come; port 0 takes a
                               free one. The address is printed on standard
                               output: listening on 127.0.0.1:41234
        http://[ADDR]:PORT     serve HTTP progressive on that port, under any path:
                               each client gets the stream from its beginning, each
                               packet after its length
        rtsp://[ADDR]:PORT/NAME
                               serve RTSP under that name, over TCP and UDP; rtsps://
                               is the same in TLS. Several sources under several
                               names share one address. A file is played to each
                               client from its beginning, and can be paused and
                               sought in. The pattern, and a file with --loop
                               forever, are live: all clients see the same

      EXAMPLES
        Serve a test pattern to rtp-recv udp://127.0.0.1:5004:
          rtp-send pattern listen://127.0.0.1:5004
        Play a file to an address, over and over, described by an SDP file:
          rtp-send film.mp4 udp://127.0.0.1:5004 --loop forever --sdp film.sdp
        With sound, described for any receiver:
          rtp-send pattern udp://127.0.0.1:5004 --audio aac --sdp pattern.sdp
        A hundred cameras at once, on ports 5000, 5002 and so on:
          rtp-send pattern udp://127.0.0.1:5000 --streams 100 --bitrate 1M
        What a recorder is writing, file after file:
          rtp-send --follow 'cam-%05d.mp4' udp://127.0.0.1:5004
        What an encoder makes:
          ffmpeg -i film.mkv -c copy -f mpegts - | rtp-send - udp://127.0.0.1:5004
        A bad network in front of somebody else's stream (rtp-send proxy --help):
          rtp-send proxy rtsp://:8554 rtsp://camera:554 --plan wifi
        A bad network, the same each time:
          rtp-send pattern udp://127.0.0.1:5004 --loss 0.01 --reorder 0.05,5 --seed 7
        A camera and a film, for any RTSP client:
          rtp-send pattern rtsp://:8554/camera film.mp4 rtsp://:8554/film
        What a recorder is writing, and a film from its beginning:
          rtp-send 'cam-%05d.mp4' rtsp://:8554/cam film.mp4 rtsp://:8554/film \\
            --follow-only cam

      PLANS
        A plan says on each line from when to when something holds, in seconds since
        the first packet or with ms, s, m, h, and what, separated by commas. Later
        lines overrule earlier ones. 'repeat 60' begins again after a minute; #
        begins a comment. Shares are 0.01 or 1%. The same seed gives the same
        verdicts.

          0       delay 40ms jitter 10ms, loss 0.5%
          10-15   burst-loss 20% 5
          20-22   silence
          30      restart

        What can be said; SHAPE is uniform, normal, pareto or paretonormal:
      \(PlanText.help)

        The names of networks, which are not those of files, stand for:
      \(Preset.help)

      EXIT STATUS
      \(ExitStatus.table)
      """,
    version: "0.1.0")

  @Argument(
    help: ArgumentHelp("A file, pattern, or - for standard input.", valueName: "source"),
    completion: .file())
  var source: String

  @Argument(
    help: ArgumentHelp("Where it goes.", valueName: "destination"),
    transform: { try Destination($0) })
  var destination: Destination

  @Argument(
    help: ArgumentHelp("More of both, for one RTSP server.", valueName: "source destination"))
  var more: [String] = []

  @OptionGroup(title: "The source") var media: SourceOptions
  @OptionGroup(title: "The test pattern") var pattern: PatternOptions
  @OptionGroup(title: "Sound") var sound: SoundOptions
  @OptionGroup(title: "Load") var load: LoadOptions
  @OptionGroup(title: "Pace") var pace: PaceOptions
  @OptionGroup(title: "Waiting for clients") var listening: ListeningOptions
  @OptionGroup(title: "RTSP") var serving: ServingOptions
  @OptionGroup(title: "Packets") var packets: PacketOptions
  @OptionGroup(title: "Answers") var feedback: FeedbackOptions
  @OptionGroup(title: "SRTP") var protection: ProtectionOptions
  @OptionGroup(title: "Impairments") var impairments: ImpairmentOptions
  @OptionGroup(title: "What is written") var output: OutputOptions

  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    // A file with that name is ./proxy.
    if arguments.first == "proxy" {
      await run(ProxyCommand.self, Array(arguments.dropFirst()))
    } else {
      await run(Self.self, arguments)
    }
  }

  private static func run<Command: AsyncParsableCommand>(
    _ type: Command.Type, _ arguments: [String]
  ) async {
    // It needs neither a source nor a destination.
    if let place = arguments.firstIndex(of: "--quirk"),
      arguments.dropFirst(place + 1).first == "list"
    {
      return print(
        Quirk.list(type == ProxyCommand.self ? Quirk.ofProxies : Set(Quirk.Place.allCases)))
    }
    do {
      var command = try type.parseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      Foundation.exit(tell(error, type))
    }
  }

  /// Says what went wrong, or gives the help that was asked for; returns the exit status.
  private static func tell<Command: ParsableCommand>(
    _ error: any Error, _ type: Command.Type
  ) -> Int32 {
    let code = type.exitCode(for: error)
    switch code {
    case _ where error is ExitCode: break
    case .success: print(type.fullMessage(for: error))
    case .validationFailure:
      let name = type.configuration.commandName ?? ""
      Session.complain("\(type.message(for: error))\n'\(name) --help' lists the options.")
    default: Session.complain(type.message(for: error))
    }
    return code.rawValue
  }

  mutating func validate() throws {
    try media.check()
    try pace.check()
    try listening.check()
    try packets.check()
    try feedback.check(packets, protection)
    try protection.check()
    let isServer = try pairs.contains {
      if case .serveRTSP = $0.destination { true } else { false }
    }
    var places: Set<Quirk.Place> = [.packets, .payloads]
    if isServer || output.sdp != nil { places.insert(.description) }
    if isServer { places.formUnion([.session, .tunnel]) }
    try impairments.check(
      isPattern: try pairs.contains { $0.source == "pattern" }, quirksOf: places)
    try serving.check(pairs, media, protection, output)
    for (source, destination) in try pairs {
      try sound.check(source: source, destination, packets, feedback)
    }
    try checkMatrix()
    try checkSource()
    try checkScopes()
    try load.check(destination)
    try checkLoad()
    try checkFollowing()
    guard try pairs.contains(where: { $0.source == "pattern" }) else { return }
    do throws(SendError) {
      try pattern.configuration(media).validate()
    } catch { throw ValidationError("\(error)") }
  }

  /// What goes where, in the order of the command line.
  var pairs: [(source: String, destination: Destination)] {
    get throws {
      guard more.count.isMultiple(of: 2) else {
        throw ValidationError("each SOURCE needs a DESTINATION")
      }
      var pairs = [(source: source, destination: destination)]
      for index in stride(from: 0, to: more.count, by: 2) {
        do throws(SendError) {
          pairs.append((more[index], try Destination(more[index + 1])))
        } catch { throw ValidationError("\(error)") }
      }
      return pairs
    }
  }

  /// Throws if an option was typed that has no effect on the sources or the destination.
  private func checkScopes() throws {
    let hasFile = try pairs.contains { $0.source != "pattern" }
    let hasPattern = try pairs.contains { $0.source == "pattern" }
    switch destination {
    case .listen: break
    case .send:
      guard listening.hello == nil else {
        throw ValidationError("--hello has no effect with udp://, where nobody has to say it")
      }
      guard !listening.once else {
        throw ValidationError("--once has no effect with udp://, where nobody has to come first")
      }
    case .serveRTSP:
      guard listening.hello == nil else {
        throw ValidationError("--hello has no effect with rtsp://, where nobody has to say it")
      }
      guard !feedback.retransmissionSession else {
        throw ValidationError("--retransmission-session has no effect with rtsp://")
      }
    case .serveHTTP:
      guard listening.hello == nil else {
        throw ValidationError("--hello has no effect with http://, where nobody has to say it")
      }
      guard feedback.feedback == nil else {
        throw ValidationError("--feedback has no effect with http://, which carries no RTCP back")
      }
    }
    if sound.noVideo {
      let typed = [
        ("--feedback", feedback.feedback != nil), ("--fec", packets.fec != nil),
        ("--strip-parameter-sets", media.stripParameterSets),
        ("--size", pattern.size != nil), ("--bframes", pattern.bframes != nil),
        ("--gop", pattern.gop != nil),
        ("--frames", media.frames != nil && hasFile),
      ]
      if let option = typed.first(where: { $0.1 })?.0 {
        throw ValidationError("\(option) has no effect with --no-video")
      }
    }
    let hasCamera = try pairs.contains { Self.isCamera($0.source) }
    guard !hasPattern, !hasCamera else { return }
    let typed = [
      ("--size", pattern.size != nil), ("--bframes", pattern.bframes != nil),
      ("--gop", pattern.gop != nil),
    ]
    if let option = typed.first(where: { $0.1 })?.0 {
      throw ValidationError(
        "\(option) has no effect with a file, only with the pattern and a camera")
    }
  }

  /// Throws if an option was typed that has no effect on many streams at once.
  private func checkLoad() throws {
    guard load.streams != nil else { return }
    let typed = [
      ("--audio", sound.audio != nil), ("--no-video", sound.noVideo), ("--follow", media.follow),
      ("standard input", source == "-"), ("a camera", Self.isCamera(source)),
      ("--speed", pace.speed != 1), ("--fast", pace.fast), ("--rate", pace.rate != nil),
      ("--sequence-jump", packets.sequenceJump != nil),
      ("--ssrc-change", packets.ssrcChange != nil), ("--fec", packets.fec != nil),
      ("--feedback", feedback.feedback != nil),
      ("--srtp-key-file", protection.keyFile != nil), ("--sdp", output.sdp != nil),
      ("a bad network", (try? impairments.impairments) != Impairments()),
      ("--plan", impairments.plan != nil), ("--quirk", impairments.quirk != nil),
      ("--log", impairments.log != nil),
    ]
    if let option = typed.first(where: { $0.1 })?.0 {
      throw ValidationError("\(option) has no effect with --streams")
    }
  }

  /// Throws if an option was typed that has no effect on what is still being made.
  private func checkFollowing() throws {
    let sources = try pairs.map(\.source)
    guard sources.filter({ $0 == "-" }).count <= 1 else {
      throw ValidationError("standard input can be read only once")
    }
    if let single = sources.first(where: { $0 == "-" || Self.isCamera($0) }),
      media.repetitions.count != 1
    {
      throw ValidationError("--loop has no effect with \(single), which can be read only once")
    }
    if sources.contains(where: Self.isCamera) {
      guard pace.speed == 1, !pace.fast, pace.rate == nil else {
        throw ValidationError(
          "--speed, --fast and --rate have no effect with a camera, whose pictures are sent at once"
        )
      }
      guard sound.audio == nil else {
        throw ValidationError("--audio has no effect with a camera")
      }
    }
    try checkFollowedNames()
    guard media.follow || !media.followOnly.isEmpty else { return }
    guard sources.contains(where: Self.isFile) else {
      throw ValidationError("--follow has an effect with files alone")
    }
    let typed = [
      ("--loop", media.repetitions.count != 1), ("--speed", pace.speed != 1), ("--fast", pace.fast),
      ("--rate", pace.rate != nil), ("--audio", sound.audio != nil),
    ]
    if let option = typed.first(where: { $0.1 })?.0 {
      throw ValidationError(
        "\(option) has no effect with --follow, which sends pictures as they are written")
    }
  }

  /// Throws if a name that is to be followed is not that of a file.
  private func checkFollowedNames() throws {
    for name in media.followOnly {
      let isFollowed = try pairs.contains { source, destination in
        guard case .serveRTSP(_, _, name, _) = destination else { return false }
        return Self.isFile(source)
      }
      guard isFollowed else {
        throw ValidationError(
          "--follow-only takes the name of a file, as in FILE rtsp://…/NAME, not '\(name)'")
      }
    }
  }

  private static func isFile(_ source: String) -> Bool {
    source != "pattern" && source != "-" && !isCamera(source)
  }

  /// Whether a source is a device of V4L2.
  static func isCamera(_ source: String) -> Bool { source.hasPrefix("/dev/video") }

  /// Throws if several runs would have one SSRC under one key: each begins to count anew, and what
  /// is encrypted twice with the same numbers is encrypted no more (RFC 3711 §9.1).
  private func checkSource() throws {
    guard protection.keyFile != nil, packets.ssrc != nil else { return }
    switch destination {
    case .send: return
    case .listen where listening.once: return
    case .listen:
      throw ValidationError(
        "--ssrc with --srtp-key-file is for one client; add --once, or leave one of them out")
    case .serveHTTP, .serveRTSP:
      throw ValidationError(
        "--ssrc cannot be chosen with --srtp-key-file where each client has a stream of its own")
    }
  }

  private func checkMatrix() throws {
    guard packets.fec?.matrix != nil else { return }
    guard case .send(_, let port) = destination, port <= 65_531 else {
      throw ValidationError(
        "--fec st2022-1 goes to the ports two and four above that of udp://HOST:PORT")
    }
    guard protection.keyFile == nil else {
      throw ValidationError("--fec st2022-1 protects packets that are not encrypted")
    }
  }

  func run() async throws {
    let status = await Session(command: self).run()
    if status != .done { throw status.code }
  }
}

/// The exit statuses of `rtp-send`, as `--help` names them.
enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case sourceFailed = 1
  case networkFailed = 2
  case outputFailed = 6
  case usage = 64

  var meaning: String {
    switch self {
    case .done: "all sent, or stopped by SIGINT or SIGTERM"
    case .sourceFailed: "the source cannot be opened, read or encoded"
    case .networkFailed: "the address is not known, cannot be bound, or cannot be sent to"
    case .outputFailed: "the SDP file or the statistics cannot be written"
    case .usage: "the command line is wrong"
    }
  }

  /// The table for `--help`.
  static var table: String {
    allCases.map { "  \($0.rawValue < 10 ? " " : "")\($0.rawValue)  \($0.meaning)" }
      .joined(separator: "\n")
  }

  var code: ExitCode { ExitCode(rawValue) }

  /// The status for `error`.
  init(_ error: any Error) {
    switch error {
    case SendError.network: self = .networkFailed
    case is OutputError: self = .outputFailed
    case is SRTPError: self = .usage
    default: self = .sourceFailed
    }
  }
}

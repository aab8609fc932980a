import ArgumentParser
import Foundation
import Impairment
import OptionNames
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
                               .mkv .ts …), but of no playlist
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
      // After what only prints, such as --version.
      if let fault = LinkedLibrary.firstFault {
        Session.complain(fault)
        throw ExitStatus.noLibrary.code
      }
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      Foundation.exit(tell(error, type, arguments))
    }
  }

  /// Says what went wrong, or gives the help that was asked for; returns the exit status.
  private static func tell<Command: ParsableCommand>(
    _ error: any Error, _ type: Command.Type, _ arguments: [String]
  ) -> Int32 {
    let code = type.exitCode(for: error)
    switch code {
    case _ where error is ExitCode: break
    case .success:
      if KnownOptions.readsHelp(intoLettersOf: arguments),
        let unknown = unknownOption(of: type, among: arguments)
      {
        complain(unknown, type)
        return ExitCode.validationFailure.rawValue
      }
      print(type.fullMessage(for: error))
    case .validationFailure:
      complain(
        unknownOption(of: type, among: arguments)
          ?? withoutPasswords(type.message(for: error), of: arguments), type)
    default: Session.complain(type.message(for: error))
    }
    return code.rawValue
  }

  /// What is wrong with the first of `arguments` that is an unknown option; `nil` if none is.
  private static func unknownOption<Command: ParsableCommand>(
    of type: Command.Type, among arguments: [String]
  ) -> String? {
    // ArgumentParser takes the value of an unknown option for the source.
    (type == ProxyCommand.self ? nil : FFmpegOptions.ofSender.complaint(aboutAnyOf: arguments))
      ?? KnownOptions(of: type).complaint(aboutAnyOf: arguments)
  }

  /// `words`, which may quote `arguments`, without the logins in their URLs: no URL here has one.
  private static func withoutPasswords(_ words: String, of arguments: [String]) -> String {
    arguments.filter { $0.contains("://") }.reduce(words) {
      $0.replacing($1, with: SourceArgument($1).shown)
    }
  }

  private static func complain<Command: ParsableCommand>(_ words: String, _ type: Command.Type) {
    let name = type.configuration.commandName ?? ""
    // ArgumentParser lists the values of an option in lines of their own.
    let lines = words.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    Session.complain(lines + ["'\(name) --help' lists the options."])
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
    try checkFiles()
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

  func run() async throws {
    let status = await Session(command: self).run()
    if status != .done { throw status.code }
  }
}

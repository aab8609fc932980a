import ArgumentParser
import Bitstream
import Decode
import Defragment
import NIOPosix
import Outputs
import RTPWire
import Receiver
import Transports

@main
struct RTPRecv: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rtp-recv",
    abstract: "Receives RTP video and writes raw frames.",
    usage: "rtp-recv [OPTIONS] SOURCE",
    discussion: """
      SOURCE is where the video comes from:
        udp://HOST:PORT         say hello to HOST:PORT and receive there what it sends back
        rtp://[ADDRESS]:PORT    listen on a port, or join a multicast group
                                (rtp://SENDER@GROUP:PORT for source-specific multicast)
        rtsp://HOST[:PORT]/PATH play a camera's or server's stream (rtsps:// encrypted)
        http://HOST[:PORT]/PATH HTTP progressive: packets behind their lengths (https:// encrypted)
        tcp://HOST:PORT         packets behind their lengths, as RFC 4571 has it
        -                       packets behind 4-byte lengths on standard input
        FILE.sdp                listen as the session description says
        FILE.pcapng             replay a recording (.pcap, .pcapng, .rtpdump, or .rtp4: packets
                                behind 4-byte lengths)
      With --transport, HOST:PORT alone is enough.

      EXAMPLES
        Watch a stream:
          rtp-recv udp://203.0.113.5:5004 -o - --format y4m | ffplay -
        Record a camera, asking for its password, until Ctrl-C:
          rtp-recv rtsp://user@camera/stream -o camera.y4m --reconnect
        Write 300 raw frames, with statistics:
          rtp-recv rtp://:5004 -o video.y4m --frames 300 --stats stats.jsonl
        Record what was received, packet by packet, and play it again later:
          rtp-recv rtp://:5004 --capture camera.pcapng
          rtp-recv camera.pcapng -o video.y4m
        Keep the stream as it was sent, and its pictures too:
          rtp-recv camera.sdp -o video.h264 -o video.yuv

      EXIT STATUS
      \(ExitStatus.table)
      """,
    version: "0.1.0")

  @Argument(
    help: ArgumentHelp("The stream's URL, an SDP file, or a recording.", valueName: "source"))
  var source: String

  @Option(
    help:
      "How the stream is carried, if SOURCE does not say: \(TransportCatalogue.names.joined(separator: ", "))."
  )
  var transport: String?

  @OptionGroup(title: "Outputs") var outputs: OutputOptions
  @OptionGroup(title: "The media") var media: MediaOptions
  @OptionGroup(title: "Losses") var loss: LossOptions
  @OptionGroup(title: "Repair") var feedback: FeedbackOptions
  @OptionGroup(title: "UDP") var udp: UDPOptions
  @OptionGroup(title: "RTSP") var rtsp: RTSPOptions
  @OptionGroup(title: "HTTP") var http: HTTPOptions
  @OptionGroup(title: "Login, for RTSP and HTTP") var login: LoginOptions
  @OptionGroup(title: "TLS") var tls: TLSOptions
  @OptionGroup(title: "SRTP") var srtp: SRTPCommandOptions
  @OptionGroup(title: "Recordings") var replay: ReplayOptions
  @OptionGroup(title: "When to stop") var stopping: StoppingOptions
  @OptionGroup(title: "What is shown") var display: DisplayOptions

  /// Parses what can be shown of the command line, since errors of parsing show what they are about.
  static func main() async { await main(CommandLineSecrets.taken.arguments) }

  func validate() throws {
    guard display.stats != "-" || !outputs.paths.contains("-") else {
      throw ValidationError(
        "standard output is for the video; write the statistics to a file or to fd:3")
    }
  }

  func run() async throws {
    let argument = SourceArgument(CommandLineSecrets.taken.original(of: source))
    let status: ExitStatus
    do {
      if let form = rtsp.listing {
        try await list(argument, as: form)
        status = .done
      } else {
        status = try await Session(command: self, source: argument).run()
      }
    } catch TransportError.source(_, let fault) {
      StatusLine.write("rtp-recv: \(TransportError.source(argument.shown, fault))\n")
      status = .usage
    } catch let error as Password.Failure {
      StatusLine.write("rtp-recv: \(error)\n")
      status = error.status
    } catch let error as StatisticsWriter.CannotOpen {
      StatusLine.write("rtp-recv: \(error)\n")
      status = .outputFailed
    } catch let error as any Error & CustomStringConvertible
      where error is TransportError || error is RTSPError || error is HTTPError || error is TLSError
      || error is SRTPError || error is ReplayError
    {
      StatusLine.write("rtp-recv: \(argument.shown): \(error)\n")
      status = ExitStatus(of: error, otherwise: .cannotOpen)
    }
    if status != .done { throw status.code }
  }

  /// What the options say about transports, with the credentials for `source`.
  func transportOptions(for source: SourceArgument) throws -> TransportOptions {
    var options = try udp.options()
    // With --reconnect, --timeout is for all connections together.
    let timeout = stopping.reconnect ? nil : stopping.timeout
    options.rtsp = try rtsp.configuration(tls: tls, timeout: timeout)
    options.http = try http.configuration(tls: tls, timeout: timeout)
    let credentials = try login.credentials(for: source)
    options.rtsp.credentials = credentials
    options.http.credentials = credentials
    options.framed.framing = replay.framing
    if let timeout { options.framed.silence = timeout > 0 ? .seconds(timeout) : nil }
    options.replay = replay.configuration(
      payloadType: media.payloadType,
      auxiliaryTypes: try feedback.completed(try media.description()).auxiliaryTypes)
    if case .matrix = media.fec { options.takesCorrection = true }
    options.retransmissionPort = feedback.retransmissionPort
    // Whoever says what it is knows better than the description.
    if media.codec == "auto" {
      options.encodings = Set(FormatCatalogue.standard.codecs.map { $0.encodingName.uppercased() })
    }
    options.srtp = try srtp.options()
    if options.srtp.keys.isEmpty { options.srtp.keys = try media.keys(options.srtp) }
    options.rtsp.protection = options.srtp
    return options
  }

  /// The file for what comes, if one is wanted; nothing is to be written twice, or over what is read.
  ///
  /// - Throws: that something would be written over what is played, or that it can not be written.
  func openCapture(unlessItIs source: String) throws -> CaptureFile? {
    let written = [replay.capture, display.stats].compactMap(\.self) + outputs.paths
    let read =
      [source, srtp.keyFile, login.passwordFile, media.sessionDescription, tls.authorities]
      + [tls.certificate, tls.key]
    for name in read.compactMap(\.self) {
      if let path = written.first(where: { CaptureFile.isSame($0, as: name) }) {
        throw ValidationError("\(path) is what is read, and would be overwritten")
      }
    }
    let names = written.filter { $0 != "-" && !$0.hasPrefix("/dev/") && !$0.hasPrefix("fd:") }
    if let name = Dictionary(grouping: names, by: \.self).first(where: { $1.count > 1 })?.key {
      throw ValidationError("\(name) would be written twice")
    }
    guard replay.capture != "-" else {
      throw ValidationError("a capture is written to a file, not to standard output")
    }
    do {
      return try replay.capture.map { try CaptureFile(path: $0) }
    } catch { throw StatisticsWriter.CannotOpen(description: "--capture: \(error)") }
  }

  /// What is to be said before anything is done.
  func warn(about source: SourceArgument) {
    if tls.isInsecure {
      StatusLine.write("rtp-recv: warning: --tls-insecure: whoever answers is trusted\n")
    }
    if source.password != nil, !display.quiet {
      StatusLine.write(
        "rtp-recv: warning: a password in the command line can be seen by others while the program "
          + "starts, and stays in the shell's history; try --password-file\n")
    }
  }

  private func list(_ source: SourceArgument, as form: StreamList.Form) async throws {
    warn(about: source)
    let listing = try await TransportCatalogue.describe(
      source: source.bare, transport: transport, options: transportOptions(for: source),
      on: MultiThreadedEventLoopGroup.singleton.next())
    print(StreamList(of: listing).shown(as: form), terminator: "")
  }
}

import ArgumentParser
import Decode
import Defragment
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
        FILE.sdp                listen as the session description says
      With --transport, HOST:PORT alone is enough.

      EXAMPLES
        Watch a stream:
          rtp-recv udp://203.0.113.5:5004 -o - --format y4m | ffplay -
        Write 300 raw frames, with statistics:
          rtp-recv rtp://:5004 -o video.y4m --frames 300 --stats stats.jsonl
        Keep the stream as it was sent, and its pictures too:
          rtp-recv camera.sdp -o video.h264 -o video.yuv

      EXIT STATUS
      \(ExitStatus.table)
      """,
    version: "0.1.0")

  @Argument(help: ArgumentHelp("The stream's URL, or an SDP file.", valueName: "source"))
  var source: String

  @Option(
    help:
      "How the stream is carried, if SOURCE does not say: \(TransportCatalogue.names.joined(separator: ", "))."
  )
  var transport: String?

  @OptionGroup(title: "Outputs") var outputs: OutputOptions
  @OptionGroup(title: "The media") var media: MediaOptions
  @OptionGroup(title: "UDP") var udp: UDPOptions
  @OptionGroup(title: "When to stop") var stopping: StoppingOptions
  @OptionGroup(title: "What is shown") var display: DisplayOptions

  func run() async throws {
    let status: ExitStatus
    do {
      status = try await Session(command: self).run()
    } catch let error as TransportError {
      StatusLine.write("rtp-recv: \(error)\n")
      if case .source = error { status = .usage } else { status = .cannotOpen }
    }
    if status != .done { throw status.code }
  }
}

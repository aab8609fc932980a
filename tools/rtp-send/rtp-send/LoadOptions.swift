import ArgumentParser
import RTPSend

struct LoadOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Send this many streams of the same pictures at once, to every second port from that of \
      udp://HOST:PORT on, in batches. Of the pattern, the first two groups of pictures repeat.
      """, valueName: "n"))
  var streams: Int?

  func check(_ destination: Destination) throws {
    guard let streams else { return }
    guard case .send(_, let port) = destination else {
      throw ValidationError("--streams is for udp://HOST:PORT")
    }
    let most = (65_535 - port) / 2 + 1
    guard (1...most).contains(streams) else {
      throw ValidationError("--streams must be 1 to \(most), since each has a port of its own")
    }
  }
}

import ArgumentParser
import OptionNames
import RTPSend

struct PatternOptions: ParsableArguments {
  @Option(help: "h264 or h265.")
  var codec = Codec.h264

  @Option(
    help: ArgumentHelp(
      "Even, at least 256x144 (default: 1280x720).", valueName: "width x height"))
  var size: Size?

  @Option(
    help: ArgumentHelp("Bits a second; k and M may follow (default: 4M).", valueName: "rate"),
    transform: BitRate.reading(or: "it is bits a second, such as 800k or 4M"))
  var bitrate = BitRate(bitsPerSecond: 4_000_000)

  @Option(help: ArgumentHelp("Frames between key pictures (default: one second).", valueName: "n"))
  var gop: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Consecutive B-frames, which delay the stream (default: 0).", valueName: "n"))
  var bframes: Int?

  func configuration(_ media: SourceOptions) -> PatternConfiguration {
    var configuration = PatternConfiguration()
    configuration.codec = codec
    let size = self.size ?? Size(width: 1280, height: 720)
    configuration.width = size.width
    configuration.height = size.height
    // What is not a whole number is refused as 0.
    configuration.framesPerSecond = Int(exactly: media.fps ?? 30) ?? 0
    configuration.bitRate = bitrate.bitsPerSecond
    configuration.groupLength = gop
    configuration.bidirectionalPictures = bframes ?? 0
    configuration.frameLimit = media.frames
    return configuration
  }
}

import Bitstream
import Defragment
import Reception

extension TrackStatus {
  /// The name of the coding of its sound, as summaries have it; `nil` where it is not known.
  var soundName: String? {
    // Where nobody takes the sound, the name in RTP is all that is known.
    sound?.format?.codec.name ?? codecName.map(CommandLineTool.current.formats.soundName)
  }

  /// The names of all codings that are known.
  static var soundNames: [String] {
    let formats = CommandLineTool.current.formats
    return formats.soundFormats.flatMap { $0.encodingNames }.map(formats.soundName)
      .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }
}

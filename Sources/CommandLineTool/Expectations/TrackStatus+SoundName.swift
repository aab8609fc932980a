import Bitstream
import Defragment
import Reception

extension TrackStatus {
  /// The name of the coding of its sound, as summaries have it; `nil` where it is not known.
  var soundName: String? {
    // Where nobody takes the sound, the name in RTP is all that is known.
    sound?.format?.codec.name ?? codecName.map(Self.soundName)
  }

  /// The names of all codings that are known.
  static var soundNames: [String] {
    CommandLineTool.current.formats.soundFormats.flatMap { $0.encodingNames }.map(soundName)
      .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// The name of the coding that an encoding name of RTP stands for.
  private static func soundName(_ encodingName: String) -> String {
    switch encodingName.uppercased() {
    // RFC 3640, RFC 6416, and what cameras call ADTS.
    case "MPEG4-GENERIC", "MP4A-LATM", "MP4A-ADTS": AAC.codec.name
    case let name where name.hasPrefix("AAL2-G726-"): G726.mostSignificantFirst.name
    case let name where name.hasPrefix("G726-"): G726.leastSignificantFirst.name
    default: encodingName.lowercased()
    }
  }
}

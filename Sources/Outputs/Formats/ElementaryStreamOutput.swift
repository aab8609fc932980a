public import Bitstream
import Decode
import Defragment

/// `.h264`, `.h265`: the access units as received, as a byte stream (Annex B of either standard).
///
/// The file begins at the first random-access point, where any decoder can start.
struct ElementaryStreamOutput: Output {
  private let codec: VideoCodec
  private var hasBegun = false

  init(codec: VideoCodec) { self.codec = codec }

  mutating func record(for item: OutputItem) throws(OutputError) -> OutputRecord? {
    guard case .unit(let unit) = item else { return nil }
    guard unit.codec == codec else { throw .wrongCodec(expected: codec, found: unit.codec) }
    hasBegun = hasBegun || unit.isRandomAccess
    return hasBegun ? OutputRecord(pieces: [.bytes(unit.bytes)]) : nil
  }
}

extension OutputFormat {
  /// The access units of `codec` as a plain file, named after it.
  ///
  /// That is of use only where players find the units in a byte stream, as by start codes.
  public static func elementaryStream(of codec: VideoCodec) -> OutputFormat {
    OutputFormat(name: codec.name, otherEndings: codec.otherFileEndings, inputs: .units) {
      ElementaryStreamOutput(codec: codec)
    }
  }
}

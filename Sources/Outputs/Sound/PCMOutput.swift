import Bitstream
import Decode
import Defragment
import NIOCore

/// `.pcm`: the samples of the sound as 16-bit integers, low byte first, channels interleaved, with
/// silence where something is missing.
///
/// Nothing in it says the rate and the number of channels; a note of the output does.
struct PCMOutput: Output {
  static let format = OutputFormat(name: "pcm", otherEndings: ["s16le"], inputs: .sound) {
    PCMOutput()
  }

  private var track = DecodedTrack()
  private(set) var notes: [OutputNote] = []

  mutating func record(for item: OutputItem) throws -> OutputRecord? {
    guard case .sound(let unit) = item else { return nil }
    let pieces = try track.take(unit)
    guard let first = pieces.first else { return nil }
    if notes.isEmpty { notes = [.samples(rate: first.sampleRate, channels: first.channels)] }
    var bytes = ByteBuffer()
    for piece in pieces { piece.writeInt16(to: &bytes) }
    return OutputRecord(pieces: [.bytes(bytes)])
  }
}

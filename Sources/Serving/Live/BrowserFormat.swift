import Bitstream
import Defragment
import NIOCore

/// What a browser's decoder has to know before a key picture; one object while it stays the same.
final class BrowserFormat: Sendable {
  let codec: VideoCodec
  /// Parameter sets in their natural order, without start codes, as browsers get them.
  let sets: [ByteBuffer]
  /// As the sender sent them.
  let sentSets: [ByteBuffer]
  let description: FormatDescription?

  /// `reorders` says whether pictures are shown in another order than they come.
  init(
    codec: VideoCodec, sets: [ByteBuffer], description: FormatDescription?, reorders: Bool
  ) {
    self.codec = codec
    sentSets = sets
    self.sets = reorders ? sets : sets.map { codec.withoutReordering($0) ?? $0 }
    self.description = description
  }

  /// What names the coding for browsers.
  var codecsParameter: String? { codec.codecsParameter(of: sets) }
  /// The sets as the header of an MP4 file has them.
  var record: ByteBuffer? { codec.configurationRecord(of: sets) }
}

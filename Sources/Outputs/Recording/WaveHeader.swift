import NIOCore

/// The places of the lengths in the header of a WAV file (RIFF).
///
/// libavformat writes them at the end. Until then they are the greatest there are, which players
/// take for hours of sound.
struct WaveHeader: Sendable, Hashable {
  /// Bytes before the first sample.
  let length: Int

  /// The header in `bytes`, the beginning of a file; `nil` where that is of another kind.
  init?(in bytes: ByteBuffer) {
    let start = bytes.readerIndex
    guard bytes.getString(at: start, length: 4) == "RIFF",
      bytes.getString(at: start + 8, length: 4) == "WAVE"
    else { return nil }
    var place = 12
    while let name = bytes.getString(at: start + place, length: 4),
      let size = bytes.getInteger(at: start + place + 4, endianness: .little, as: UInt32.self)
    {
      place += 8
      guard name != "data" else {
        length = place
        return
      }
      // What has an odd length is followed by a zero.
      place += Int(size) + Int(size & 1)
    }
    return nil
  }

  /// What writes the lengths of a file of `count` bytes.
  ///
  /// Beyond 4 GiB there is no room for them here, and they stay unknown.
  func patches(byteCount count: Int) -> [OutputRecord.Patch] {
    guard count >= length, let whole = UInt32(exactly: count - 8),
      let samples = UInt32(exactly: count - length)
    else { return [] }
    return [(4, whole), (length - 4, samples)].map { offset, value in
      OutputRecord.Patch(offset: offset, bytes: ByteBuffer(integer: value, endianness: .little))
    }
  }
}

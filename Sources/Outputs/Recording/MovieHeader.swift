import NIOCore

/// The place of the duration in the header of an MP4 file (ISO/IEC 14496-12 §8.2.2).
///
/// A fragmented file is begun before its duration is known. libavformat leaves 0 there, with which
/// some players show no length and cannot seek.
struct MovieHeader: Sendable, Hashable {
  /// Bytes from the start of the file.
  let offset: Int
  /// Whether the duration has 64 bits, as in version 1 of the box.
  let isLong: Bool
  /// Units of the duration in a second.
  let timescale: UInt32

  /// The header in `bytes`, the beginning of a file; `nil` where there is none yet.
  init?(in bytes: ByteBuffer) {
    guard let movie = Self.box("moov", in: bytes, from: 0, to: bytes.readableBytes),
      let header = Self.box("mvhd", in: bytes, from: movie.lowerBound, to: movie.upperBound)
    else { return nil }
    let start = bytes.readerIndex + header.lowerBound
    guard let version = bytes.getInteger(at: start, as: UInt8.self) else { return nil }
    isLong = version == 1
    // Version and flags, then the times of creation and modification.
    let distance = 4 + (isLong ? 16 : 8)
    guard let timescale = bytes.getInteger(at: start + distance, as: UInt32.self),
      header.lowerBound + distance + 4 + (isLong ? 8 : 4) <= header.upperBound
    else { return nil }
    self.timescale = timescale
    offset = header.lowerBound + distance + 4
  }

  /// What writes `duration`, in seconds, into the header.
  func patch(duration: Double) -> OutputRecord.Patch {
    let units = (max(duration, 0) * Double(timescale)).rounded()
    var bytes = ByteBuffer()
    if isLong {
      bytes.writeInteger(UInt64(exactly: units) ?? 0)
    } else {
      bytes.writeInteger(UInt32(exactly: units) ?? .max)
    }
    return OutputRecord.Patch(offset: offset, bytes: bytes)
  }

  /// Where the content of the box `name` lies between two offsets.
  private static func box(
    _ name: StaticString, in bytes: ByteBuffer, from start: Int, to end: Int
  ) -> Range<Int>? {
    var place = start
    while place + 8 <= end,
      let size = bytes.getInteger(at: bytes.readerIndex + place, as: UInt32.self),
      let type = bytes.getString(at: bytes.readerIndex + place + 4, length: 4)
    {
      guard size >= 8, place + Int(size) <= end else { return nil }
      if type == "\(name)" { return place + 8..<place + Int(size) }
      place += Int(size)
    }
    return nil
  }
}

public import NIOCore

/// The byte stream format of H.264 and H.265, Annex B.
public enum AnnexB {
  /// The NAL units in `stream`, as slices, without start codes and trailing zero bytes.
  ///
  /// Bytes before the first start code belong to no unit and are left out, as are empty units.
  public static func units(in stream: ByteBuffer) -> [ByteBuffer] {
    let bytes = stream.readableBytesUInt8Span
    var units: [ByteBuffer] = []
    var begin: Int?

    func close(at end: Int) {
      guard let begin else { return }
      // A unit never ends in a zero byte (§7.4.1): those are trailing_zero_8bits or the first byte
      // of a four-byte start code.
      var end = end
      while end > begin, bytes[end - 1] == 0 { end -= 1 }
      guard end > begin,
        let unit = stream.getSlice(at: stream.readerIndex + begin, length: end - begin)
      else { return }
      units.append(unit)
    }

    // The last byte of a start code is 1 and the two before it are 0, so a byte above 1 rules out
    // three places at once.
    var index = 2
    while index < bytes.count {
      if bytes[index] > 1 {
        index += 3
      } else if bytes[index] == 1 {
        if bytes[index - 1] == 0, bytes[index - 2] == 0 {
          close(at: index - 2)
          begin = index + 1
        }
        index += 3
      } else {
        index += 1
      }
    }
    close(at: bytes.count)
    return units
  }
}

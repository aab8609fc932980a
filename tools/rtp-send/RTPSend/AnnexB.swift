public import NIOCore

/// The byte stream format of H.264 and H.265, Annex B.
public enum AnnexB {
  /// The NAL units in `stream`, as slices, without start codes and trailing zero bytes.
  ///
  /// Bytes before the first start code belong to no unit and are left out, as are empty units.
  public static func units(in stream: ByteBuffer) -> [ByteBuffer] {
    let view = stream.readableBytesView
    var units: [ByteBuffer] = []
    var begin: Int?
    var zeros = 0

    func close(at end: Int) {
      guard let begin else { return }
      // A unit never ends in a zero byte (§7.4.1): those are trailing_zero_8bits or the first byte of a
      // four-byte start code.
      var end = end
      while end > begin, view[end - 1] == 0 { end -= 1 }
      guard end > begin, let unit = stream.getSlice(at: begin, length: end - begin) else { return }
      units.append(unit)
    }

    for index in view.indices {
      let byte = view[index]
      if byte == 0 {
        zeros += 1
      } else {
        if byte == 1, zeros >= 2 {
          close(at: index - zeros)
          begin = index + 1
        }
        zeros = 0
      }
    }
    close(at: view.endIndex)
    return units
  }
}

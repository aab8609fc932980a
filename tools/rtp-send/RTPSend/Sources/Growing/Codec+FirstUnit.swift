extension Codec {
  /// The codec of a stream by the first two bytes of its first NAL unit; `nil` if it is neither.
  ///
  /// The headers of H.265 at the beginning of a stream (delimiter, parameter sets, prefix message,
  /// IRAP picture, all of the base layer) are none that H.264 allows there.
  init?(firstUnit header: [UInt8]) {
    let beginnings: Set<UInt8> = [0x40, 0x42, 0x44, 0x46, 0x4E, 0x26, 0x28, 0x2A]
    if header.count == 2, beginnings.contains(header[0]), header[1] == 1 {
      self = .h265
    } else if Self.h264.canBegin(with: header) {
      self = .h264
    } else {
      return nil
    }
  }

  /// Whether a NAL unit of a recording can begin with `header`, one or two bytes.
  func canBegin(with header: [UInt8]) -> Bool {
    guard header.count >= headerLength, header[0] & 0x80 == 0 else { return false }
    switch self {
    case .h264:
      let (type, isReference) = (header[0] & 0x1F, header[0] & 0x60 != 0)
      switch type {
      case 1...4, 7, 8, 13, 14, 15, 19, 20: return true
      case 5: return isReference
      case 6, 9...12: return !isReference
      default: return false
      }
    case .h265:
      let type = header[0] >> 1 & 0x3F
      // nuh_temporal_id_plus1 is never 0.
      return header[1] & 0x07 != 0
        && ((0...9).contains(type) || (16...21).contains(type) || (32...40).contains(type))
    }
  }
}

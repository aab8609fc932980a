import Bitstream
import NIOCore

/// How a container stores NAL units, and which its header has beside those in the samples (ISO/IEC
/// 14496-15).
struct DecoderConfiguration: Equatable {
  /// Bytes of the length before each NAL unit; `nil` where samples are Annex B.
  var lengthSize: LengthPrefixed.LengthSize?
  /// Parameter sets, and messages that hold for the whole stream.
  var units: [ByteBuffer]

  /// Reads the header that libavformat has of a stream; `nil` when it is malformed.
  ///
  /// MP4 and Matroska have the records below, other formats an Annex B stream or nothing.
  init?(header: ByteBuffer, of codec: Codec) {
    let bytes = header.readableBytesView
    let isStream =
      bytes.isEmpty || bytes.starts(with: [0, 0, 1]) || bytes.starts(with: [0, 0, 0, 1])
    if isStream {
      (lengthSize, units) = (nil, AnnexB.units(in: header))
      return
    }
    let read = codec == .h264 ? Self(avcC: header) : Self(hvcC: header)
    guard let read else { return nil }
    self = read
  }

  /// Reads an AVCDecoderConfigurationRecord (14496-15 §5.3.3.1); `nil` when it is malformed.
  init?(avcC record: ByteBuffer) {
    var (record, units) = (record, [ByteBuffer]())
    guard let head = record.readBytes(length: 5), head[0] == 1,
      let size = LengthPrefixed.LengthSize(rawValue: Int(head[4] & 3) + 1)
    else { return nil }
    for mask: UInt8 in [0x1F, 0xFF] {
      guard let count = record.readInteger(as: UInt8.self) else { break }
      for _ in 0..<(count & mask) {
        guard let unit = record.readLengthPrefixedSlice(as: UInt16.self) else { return nil }
        units.append(unit)
      }
    }
    (lengthSize, self.units) = (size, Self.divided(units))
  }

  /// Reads an HEVCDecoderConfigurationRecord (14496-15 §8.3.3.1); `nil` when it is malformed.
  init?(hvcC record: ByteBuffer) {
    var (record, units) = (record, [ByteBuffer]())
    guard let head = record.readBytes(length: 23),
      let size = LengthPrefixed.LengthSize(rawValue: Int(head[21] & 3) + 1)
    else { return nil }
    for _ in 0..<head[22] {
      guard record.readInteger(as: UInt8.self) != nil,
        let count = record.readInteger(as: UInt16.self)
      else { return nil }
      for _ in 0..<count {
        guard let unit = record.readLengthPrefixedSlice(as: UInt16.self) else { return nil }
        units.append(unit)
      }
    }
    (lengthSize, self.units) = (size, Self.divided(units))
  }

  /// The NAL units of a sample; `nil` when a length reaches beyond its end.
  func units(of sample: ByteBuffer) -> [ByteBuffer]? {
    guard let lengthSize else { return AnnexB.units(in: sample) }
    guard let units = try? LengthPrefixed.units(of: sample, lengthSize: lengthSize) else {
      return nil
    }
    return Self.divided(units)
  }

  /// Takes apart what has one length but start codes in it, as a whole picture of Samsung's slow
  /// motion, and takes off the zeros that FFmpeg leaves behind a unit of H.265.
  private static func divided(_ units: [ByteBuffer]) -> [ByteBuffer] {
    AnnexB.units(in: Bitstream.AnnexB.stream(of: units))
  }
}

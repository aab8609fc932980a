import Bitstream
import NIOCore

extension ByteBuffer {
  /// A sequence or picture parameter set with another identifier; others stay as they are.
  ///
  /// - Parameters:
  ///   - identifier: of a picture parameter set.
  ///   - sequence: of the sequence parameter set, or of the one that it refers to; `nil` for
  ///     `identifier`.
  ///   - codec: H.264, or H.265 without temporal sub-layers.
  /// - Returns: the set, NAL unit header first.
  func numbered(_ identifier: Int, sequence: Int? = nil, in codec: VideoCodec) -> ByteBuffer {
    let isH264 = codec == .testH264
    let type = codec.type(of: NALUnitHead(of: self))
    // What precedes the identifier: profile and level (H.264 §7.3.2.1.1, H.265 §7.3.2.2.1).
    let sequenceLead = isH264 ? 24 : 104
    let sequence = UInt32(sequence ?? identifier)
    let isSequence = type == codec.parameterSetTypes.dropLast().last
    guard isSequence || type == codec.parameterSetTypes.last else { return self }
    let headerLength = isH264 ? 1 : 2
    let payload = EmulationPrevention.removed(from: dropping(bytes: headerLength))
    guard let last = payload.readableBytesView.last else { return self }
    // Without the stop bit.
    let length = 8 * payload.readableBytes - 1 - last.trailingZeroBitCount
    var reader = Bitstream.BitReader(plain: payload)
    var writer = Bitstream.BitWriter()
    do {
      for _ in 0..<(isSequence ? sequenceLead : 0) { writer.append(try reader.bit()) }
      for number in isSequence ? [sequence] : [UInt32(identifier), sequence] {
        _ = try reader.unsigned()
        writer.append(unsigned: number)
      }
      while reader.position < length { writer.append(try reader.bit()) }
    } catch { return self }
    writer.align()
    return writer.unit(header: getBytes(at: readerIndex, length: headerLength) ?? [])
  }
}

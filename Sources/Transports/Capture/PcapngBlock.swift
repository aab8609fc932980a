internal import NIOCore

/// The pcapng blocks that a capture consists of (draft-ietf-opsawg-pcapng §4), in big-endian order.
enum PcapngBlock {
  /// A Section Header Block for a section of unspecified length.
  static func writeSection(to bytes: inout ByteBuffer) {
    write(PcapngReader.BlockType.section, to: &bytes) { body in
      body.writeMultipleIntegers(PcapngReader.byteOrderMagic, UInt16(1), UInt16(0), UInt64.max)
      writeOption(4, Array("rtp-recv".utf8), to: &body)
      body.writeInteger(UInt32(0))
    }
  }

  /// An Interface Description Block for raw IP, in nanoseconds and without a snap length.
  static func writeInterface(comment: String?, to bytes: inout ByteBuffer) {
    write(PcapngReader.BlockType.interface, to: &bytes) { body in
      body.writeMultipleIntegers(UInt16(clamping: LinkType.raw.rawValue), UInt16(0), UInt32(0))
      if let comment {
        writeOption(PcapngInterface.OptionCode.comment, Array(comment.utf8), to: &body)
      }
      writeOption(PcapngInterface.OptionCode.resolution, [9], to: &body)
      body.writeInteger(UInt32(0))
    }
  }

  /// An Enhanced Packet Block with a time in nanoseconds since 1970.
  static func write(
    _ packet: SyntheticPacket, at time: Int64, of interface: UInt32, to bytes: inout ByteBuffer
  ) {
    write(PcapngReader.BlockType.enhancedPacket, to: &bytes) { body in
      let ticks = UInt64(clamping: time)
      let length = UInt32(clamping: packet.length)
      body.writeMultipleIntegers(
        interface, UInt32(ticks >> 32), UInt32(truncatingIfNeeded: ticks), length, length)
      packet.write(to: &body)
    }
  }

  /// Frames what `body` writes, padded to a multiple of four.
  private static func write(
    _ type: UInt32, to bytes: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void
  ) {
    let start = bytes.writerIndex
    bytes.writeMultipleIntegers(type, UInt32(0))
    body(&bytes)
    bytes.writeRepeatingByte(0, count: (start - bytes.writerIndex) & 3)
    let length = UInt32(clamping: bytes.writerIndex - start + 4)
    bytes.setInteger(length, at: start + 4)
    bytes.writeInteger(length)
  }

  private static func writeOption(_ code: UInt16, _ value: [UInt8], to bytes: inout ByteBuffer) {
    let value = value.prefix(Int(UInt16.max))
    bytes.writeMultipleIntegers(code, UInt16(value.count))
    bytes.writeBytes(value)
    bytes.writeRepeatingByte(0, count: -value.count & 3)
  }
}

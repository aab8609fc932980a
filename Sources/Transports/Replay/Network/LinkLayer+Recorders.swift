internal import NIOCore

/// Packets behind the headers of what recorded them.
extension LinkLayer {
  /// Linux's Netfilter: a header of four bytes, and attributes, one of which is the packet
  /// (https://www.tcpdump.org/linktypes/LINKTYPE_NFLOG.html).
  static func nflog(_ frame: ByteBuffer) -> Outcome {
    var rest = frame
    guard rest.readBytes(length: 4) != nil else { return .truncated }
    // They are in the byte order of the machine, in which the first one is the shorter.
    var order = Endianness.little
    if let first = rest.getInteger(at: rest.readerIndex, endianness: .little, as: UInt16.self),
      first.byteSwapped < first
    {
      order = .big
    }
    while let length = rest.readInteger(endianness: order, as: UInt16.self),
      let type = rest.readInteger(endianness: order, as: UInt16.self)
    {
      guard length >= 4, let value = rest.readSlice(length: Int(length) - 4) else {
        return .truncated
      }
      if type == 9 { return ip(at: 0, of: value) }
      // Each is filled up to a multiple of four bytes.
      rest.moveReaderIndex(forwardBy: min((4 - Int(length) % 4) % 4, rest.readableBytes))
    }
    return .truncated
  }

  /// Endace's Extensible Record Format: a header of 16 bytes, more of eight each, and Ethernet
  /// behind two bytes.
  static func erf(_ frame: ByteBuffer) -> Outcome {
    guard var more = frame.getInteger(at: frame.readerIndex + 8, as: UInt8.self) else {
      return .truncated
    }
    // Ethernet, and three forms of it whose counter of losses has another meaning.
    guard [2, 11, 16, 20].contains(more & 0x7F) else { return .other(EtherType(rawValue: 0)) }
    var offset = 16
    while more & 0x80 != 0 {
      guard let next = frame.getInteger(at: frame.readerIndex + offset, as: UInt8.self) else {
        return .truncated
      }
      more = next
      offset += 8
    }
    return behindEtherType(at: offset + 2 + 12, of: frame)
  }
}

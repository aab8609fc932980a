internal import NIOCore

/// Frames of Wi-Fi as the radio received them: IEEE 802.11 behind a header of Radiotap
/// (https://www.radiotap.org).
extension LinkLayer {
  private static let other = Outcome.other(EtherType(rawValue: 0))

  static func radiotap(_ frame: ByteBuffer) -> Outcome {
    let start = frame.readerIndex
    guard
      let length = frame.getInteger(at: start + 2, endianness: .little, as: UInt16.self),
      let header = frame.getSlice(at: start, length: Int(length)),
      let packet = frame.getSlice(
        at: start + Int(length), length: frame.readableBytes - Int(length))
    else { return .truncated }
    return wireless(packet, isPadded: isPadded(header))
  }

  /// Whether the header of the frame fills up to a multiple of four bytes, as the flags say.
  private static func isPadded(_ header: ByteBuffer) -> Bool {
    let start = header.readerIndex
    func word(_ index: Int) -> UInt32 {
      header.getInteger(at: start + 4 + 4 * index, endianness: .little) ?? 0
    }
    let present = word(0)
    guard present & 0b10 != 0 else { return false }
    // A word whose highest bit is set is followed by another one.
    var words = 1
    while word(words - 1) >> 31 == 1 { words += 1 }
    var offset = 4 + 4 * words
    // The clock of the radio comes first, at a multiple of its length.
    if present & 0b1 != 0 { offset = (offset + 7) / 8 * 8 + 8 }
    return (header.getInteger(at: start + offset, as: UInt8.self) ?? 0) & 0x20 != 0
  }

  /// What a frame of data carries (IEEE 802.11 §9.3.2) that is neither encrypted nor a part.
  private static func wireless(_ frame: ByteBuffer, isPadded: Bool) -> Outcome {
    let start = frame.readerIndex
    guard let (kind, flags) = frame.getMultipleIntegers(at: start, as: (UInt8, UInt8).self) else {
      return .truncated
    }
    let (isData, isEmpty, hasQuality) = (kind & 0x0F == 0x08, kind & 0x40 != 0, kind & 0x80 != 0)
    let (hasMore, isProtected) = (flags & 0x04 != 0, flags & 0x40 != 0)
    guard isData, !isEmpty, !hasMore, !isProtected else { return other }
    guard let sequence = frame.getInteger(at: start + 22, as: UInt8.self) else { return .truncated }
    guard sequence & 0x0F == 0 else { return other }
    var offset = 24
    // Between two access points there is a fourth address.
    if flags & 0x03 == 0x03 { offset += 6 }
    if hasQuality {
      guard let quality = frame.getInteger(at: start + offset, as: UInt8.self) else {
        return .truncated
      }
      // Several packets in one frame.
      guard quality & 0x80 == 0 else { return other }
      offset += flags & 0x80 != 0 ? 6 : 2
    }
    if isPadded { offset = (offset + 3) / 4 * 4 }
    // A SNAP header (RFC 1042).
    guard
      let (link, organization) = frame.getMultipleIntegers(
        at: start + offset, as: (UInt32, UInt16).self)
    else { return .truncated }
    guard link == 0xAAAA_0300, organization == 0 else { return other }
    return behindEtherType(at: offset + 6, of: frame)
  }
}

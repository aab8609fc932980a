internal import NIOCore
internal import RTPWire

/// The content of an Interface Description Block (draft-ietf-opsawg-pcapng §4.2).
struct PcapngInterface: Sendable, Hashable {
  /// The options that are read.
  enum OptionCode {
    static let end: UInt16 = 0
    static let comment: UInt16 = 1
    static let resolution: UInt16 = 9
    static let offset: UInt16 = 14
  }

  let link: LinkType
  /// Bytes recorded of each packet; 0 for all.
  let snapLength: UInt32
  /// A comment that is a session description.
  private(set) var description: [UInt8]?
  /// `if_tsresol`: ticks per second as a power of ten, or of two if the highest bit is set.
  private var resolution: UInt8 = 6
  /// `if_tsoffset`, in seconds.
  private var offset: Int64 = 0

  /// Reads the block's body, without its lengths.
  init?(_ body: ByteBuffer, _ order: Endianness) {
    var body = body
    guard
      let (link, _, snapLength) = body.readMultipleIntegers(
        endianness: order, as: (UInt16, UInt16, UInt32).self)
    else { return nil }
    self.link = LinkType(rawValue: UInt32(link))
    self.snapLength = snapLength
    while let (code, length) = body.readMultipleIntegers(
      endianness: order, as: (UInt16, UInt16).self),
      code != OptionCode.end, let value = body.readSlice(length: Int(length))
    {
      read(code, value, order)
      body.moveReaderIndex(forwardBy: min(body.readableBytes, -Int(length) & 3))
    }
  }

  private mutating func read(_ code: UInt16, _ value: ByteBuffer, _ order: Endianness) {
    switch code {
    case OptionCode.resolution:
      resolution = value.getInteger(at: value.readerIndex) ?? resolution
    case OptionCode.offset:
      offset = value.getInteger(at: value.readerIndex, endianness: order) ?? offset
    case OptionCode.comment where value.readableBytesView.starts(with: "v=0".utf8):
      description = Array(value.readableBytesView)
    default: break
    }
  }

  /// Converts a time in the interface's ticks to nanoseconds since 1970; saturates.
  func time(_ ticks: UInt64) -> Int64 {
    let exponent = Int(resolution & 0x7F)
    let second: UInt128 = 1_000_000_000
    var nanoseconds = UInt128(ticks)
    if resolution & 0x80 != 0 {
      nanoseconds = (nanoseconds * second) >> UInt128(exponent)
    } else {
      for _ in 0..<max(0, 9 - exponent) { nanoseconds *= 10 }
      // After 20 divisions nothing is left of 64 bits.
      for _ in 0..<min(20, max(0, exponent - 9)) { nanoseconds /= 10 }
    }
    let (start, overflow) = offset.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return offset < 0 ? .min : .max }
    return Int64(clamping: nanoseconds).addingSaturating(start)
  }
}

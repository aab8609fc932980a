import NIOCore

/// A box of ISO/IEC 14496-12 §4.2.
struct Box {
  /// Four characters.
  var type: String
  /// What follows its header.
  var body: ByteBuffer

  /// The first box of `type` inside.
  func first(_ type: String) -> Box? { Boxes(in: body).first { $0.type == type } }

  /// The same, some levels down.
  func first(_ path: [String]) -> Box? {
    path.reduce(self as Box?) { $0?.first($1) }
  }

  /// The version and the flags of a full box, which are taken out of `body`.
  mutating func readVersion() -> (version: UInt8, flags: UInt32)? {
    guard let word = body.readInteger(as: UInt32.self) else { return nil }
    return (UInt8(word >> 24), word & 0xFF_FFFF)
  }
}

/// The boxes in some bytes, up to the first that is not whole.
///
/// None of them is kept: eight bytes are a box, so that an index can hold millions.
struct Boxes: Sequence, IteratorProtocol {
  private var rest: ByteBuffer

  init(in bytes: ByteBuffer) { rest = bytes }

  mutating func next() -> Box? {
    guard let header = BoxHeader(rest), header.length <= UInt64(rest.readableBytes) else {
      return nil
    }
    let length = header.length == 0 ? rest.readableBytes : Int(header.length)
    guard length >= header.size, var body = rest.readSlice(length: length) else { return nil }
    body.moveReaderIndex(forwardBy: header.size)
    return Box(type: header.type, body: body)
  }
}

/// The beginning of a box.
struct BoxHeader: Equatable {
  var type: String
  /// Of the whole box; 0 when it reaches to the end of the file.
  var length: UInt64
  /// Of this header, 8 or 16 bytes.
  var size: Int
  /// The length in 32 bits, as it is written.
  var shortLength: UInt32

  /// Reads the header at the beginning of `bytes`; `nil` when it is not whole.
  init?(_ bytes: ByteBuffer) {
    let start = bytes.readerIndex
    guard let short = bytes.getInteger(at: start, as: UInt32.self),
      let name = bytes.getBytes(at: start + 4, length: 4)
    else { return nil }
    shortLength = short
    type = String(decoding: name, as: UTF8.self)
    (length, size) = (UInt64(short), 8)
    if short == 1 {
      guard let long = bytes.getInteger(at: start + 8, as: UInt64.self) else { return nil }
      (length, size) = (long, 16)
    }
  }

  /// Whether the length says nothing yet: 0, 1 with nothing behind it, or the question marks of
  /// Android's MPEG4Writer.
  var isOpenEnded: Bool {
    length == 0 || shortLength == 0x3F3F_3F3F || length == 0x3F3F_3F3F_3F3F_3F3F
  }

  /// Types that writers put at the top level of a file, in letters that no NAL unit begins with
  /// where another one is due.
  static let topLevel: Set<String> = [
    "ftyp", "styp", "moov", "moof", "mdat", "free", "skip", "wide", "sidx", "ssix", "prft", "emsg",
    "uuid", "mfra", "udta", "meta", "pdin", "pnot",
  ]
}

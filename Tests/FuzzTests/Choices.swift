import NIOCore

/// An input as a list of choices: small numbers and pieces, taken from its front.
///
/// When it is used up, every number is 0 and every piece empty, so each input is valid.
struct Choices {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func flag() -> Bool { byte() & 1 == 1 }

  /// Big-endian, as on the wire, so that the fuzzer's tables of compared values fit.
  mutating func number(bytes count: Int) -> UInt64 {
    (0..<count).reduce(0) { number, _ in number << 8 | UInt64(byte()) }
  }

  mutating func number(upTo limit: Int) -> Int {
    Int(number(bytes: limit < 256 ? 1 : limit < 65_536 ? 2 : 4) % UInt64(limit + 1))
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[number(upTo: elements.count - 1)]
  }

  /// At most `count` bytes.
  mutating func bytes(_ count: Int) -> [UInt8] {
    let piece = rest.prefix(count)
    rest = rest.dropFirst(count)
    return Array(piece)
  }

  /// A piece that follows its length: of one byte, or of two where the byte is 255.
  mutating func piece() -> [UInt8] {
    let first = Int(byte())
    return bytes(first == 255 ? Int(number(bytes: 2)) : first)
  }

  mutating func all() -> [UInt8] { bytes(rest.count) }

  /// The rest, cut into reads: first the number of cuts and their places.
  mutating func reads(upTo limit: Int = 16) -> (whole: [UInt8], reads: [[UInt8]]) {
    let lengths = (0..<number(upTo: limit)).map { _ in Int(byte()) }
    let whole = all()
    var left = whole[...]
    var reads: [[UInt8]] = []
    // The lengths begin again at the end of the list.
    var place = 0
    while !left.isEmpty {
      let length = lengths.isEmpty ? left.count : max(1, lengths[place % lengths.count])
      reads.append(Array(left.prefix(length)))
      left = left.dropFirst(length)
      place += 1
    }
    return (whole, reads)
  }
}

extension ByteBuffer {
  /// Bytes that do not begin at index 0, and with others behind them, so that whoever reads beyond
  /// the slice is found.
  init(sliceOf bytes: [UInt8], before: Int = 7) {
    var storage = ByteBuffer(repeating: 0xA5, count: before)
    storage.writeBytes(bytes)
    storage.writeRepeatingByte(0x5A, count: 9)
    self = storage.getSlice(at: before, length: bytes.count) ?? ByteBuffer()
  }

  var array: [UInt8] { Array(readableBytesView) }
}

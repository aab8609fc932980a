import NIOCore

/// The bytes that `text` spells in hexadecimal; white space between them is for the reader.
func bytes(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// The same bytes as transports deliver them: alone, after other bytes, and cut out of a slab.
///
/// A parser must treat all of them alike.
func deliveries(of bytes: [UInt8]) -> [ByteBuffer] {
  var all = [ByteBuffer(bytes: bytes)]
  for junk in 1...7 {
    var slab = ByteBuffer(repeating: 0xFF, count: junk)
    slab.writeBytes(bytes)
    slab.writeRepeatingByte(0xFF, count: 9)
    if let slice = slab.getSlice(at: junk, length: bytes.count) { all.append(slice) }
    slab.moveReaderIndex(forwardBy: junk)
    slab.moveWriterIndex(to: junk + bytes.count)
    all.append(slab)
  }
  return all
}

/// A generator of repeatable noise (SplitMix64).
struct Noise: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
  }
}

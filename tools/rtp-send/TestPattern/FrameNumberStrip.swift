/// The number of a frame, as a row of black and white blocks that survives compression.
///
/// The strip lies along the top of the picture: 32 square blocks side by side from the left edge,
/// each `width / 32` samples wide and high. White is one, black is zero. From left to right:
///
/// ```
/// | 1 0 1 0 | 24 bits of the frame number, highest first | 4 bits: XOR of the number's six nibbles
/// |
/// | sync | number | check |
/// ```
///
/// A reader takes the mean of the inner quarter of each block and compares it with the level half
/// way between the white and the black blocks of the sync.
package enum FrameNumberStrip {
  /// Blocks in the strip.
  package static let blockCount = 32
  /// The narrowest picture that has room for a strip: blocks of 8 samples, the size of a transform.
  package static let minimumWidth = 256
  /// Frame numbers are modulo 2^24.
  package static let modulus: UInt32 = 1 << 24

  /// Luma of white and black in limited range, 8 bits.
  static let white: UInt8 = 235
  static let black: UInt8 = 16
  /// The least difference of white and black that is still taken for a strip.
  private static let minimumContrast = 64

  /// The width and height of one block in a picture of `width` samples.
  package static func blockSize(pictureWidth width: Int) -> Int { width / blockCount }

  /// The 32 bits of the strip for `number`, the leftmost block in the highest bit.
  package static func bits(of number: UInt32) -> UInt32 {
    let number = number % modulus
    return 0b1010 << 28 | number << 4 | check(of: number)
  }

  /// The frame number in a plane of 8-bit luma, or `nil` when there is no strip, or a damaged one.
  ///
  /// The plane is `width` samples wide, its rows begin every `stride` bytes, and the last rows may
  /// be cut.
  package static func read(luma: Span<UInt8>, stride: Int, width: Int) -> UInt32? {
    let size = blockSize(pictureWidth: width)
    guard width >= minimumWidth, stride >= width, luma.count / stride >= size else { return nil }

    func level(ofBlock block: Int) -> Int {
      let inner = size / 4..<size - size / 4
      var sum = 0
      for row in inner {
        for column in inner { sum += Int(luma[row * stride + block * size + column]) }
      }
      return sum / (inner.count * inner.count)
    }

    let levels = (0..<blockCount).map(level)
    let darkest = max(levels[1], levels[3])
    let brightest = min(levels[0], levels[2])
    guard brightest - darkest >= minimumContrast else { return nil }
    let threshold = (brightest + darkest) / 2
    let bits = levels.reduce(UInt32(0)) { $0 << 1 | ($1 > threshold ? 1 : 0) }
    let number = bits >> 4 & (modulus - 1)
    return bits == self.bits(of: number) ? number : nil
  }

  private static func check(of number: UInt32) -> UInt32 {
    stride(from: UInt32(0), to: 24, by: 4).reduce(0) { $0 ^ number >> $1 } & 0xF
  }
}

import Bitstream
import Defragment

/// The arithmetic encoder for H.265 slice data (CABAC, §9.3.4.3 and §9.3.5).
struct ArithmeticEncoder {
  /// The adaptive estimate of how likely a kind of bin is to be a one (§9.3.2.2).
  struct Context {
    fileprivate var state: UInt8
    fileprivate var likely: Bool

    /// - Parameters:
    ///   - value: `initValue` of tables 9-5 to 9-37.
    ///   - quantization: `SliceQpY`.
    init(value: Int, quantization: Int) {
      let slope = (value >> 4) * 5 - 45
      let offset = ((value & 15) << 3) - 16
      let level = ((slope * min(max(quantization, 0), 51)) >> 4) + offset
      let start = min(max(level, 1), 126)
      likely = start > 63
      state = UInt8(clamping: likely ? start - 64 : 63 - start)
    }
  }

  private var low: UInt32 = 0
  private var range: UInt32 = 510
  private var outstanding = 0
  private var isFirstBit = true
  private(set) var bits = BitWriter()

  /// Encodes a bin and adapts `context` to it.
  mutating func encode(_ bin: Bool, _ context: inout Context) {
    let least = Self.leastRange(context.state, range)
    range -= least
    if bin == context.likely {
      context.state = min(context.state + 1, 62)
    } else {
      low += range
      range = least
      if context.state == 0 { context.likely.toggle() }
      context.state = Self.lessLikely[Int(context.state)]
    }
    renormalize()
  }

  /// Encodes a zero in bypass mode, where both values are equally likely (§9.3.4.3.4).
  mutating func encodeEvenZero() {
    low <<= 1
    if low >= 1024 {
      low -= 1024
      put(true)
    } else if low < 512 {
      put(false)
    } else {
      low -= 512
      outstanding += 1
    }
  }

  /// Encodes the end of the slice segment and completes its last byte.
  mutating func end() {
    range -= 2
    low += range
    range = 2
    renormalize()
    put(low >> 9 & 1 == 1)
    bits.append(low >> 8 & 1 == 1)
    // The last one bit that the decoder reads is the payload's stop bit.
    bits.align()
  }

  private mutating func renormalize() {
    while range < 256 {
      if low < 256 {
        put(false)
      } else if low >= 512 {
        low -= 512
        put(true)
      } else {
        low -= 256
        outstanding += 1
      }
      range <<= 1
      low <<= 1
    }
  }

  private mutating func put(_ bit: Bool) {
    if isFirstBit {
      isFirstBit = false
    } else {
      bits.append(bit)
    }
    for _ in 0..<outstanding { bits.append(!bit) }
    outstanding = 0
  }

  /// `rangeTabLps` (table 9-46).
  private static func leastRange(_ state: UInt8, _ range: UInt32) -> UInt32 {
    let row = leastRanges[min(Int(state), leastRanges.count - 1)]
    return (row >> (24 - 8 * ((range >> 6) & 3))) & 0xFF
  }

  /// Four ranges for each state, one in each byte.
  private static let leastRanges: [UInt32] = [
    0x80B0_D0F0, 0x80A7_C5E3, 0x809E_BBD8, 0x7B96_B2CD, 0x748E_A9C3, 0x6F87_A0B9, 0x6980_98AF,
    0x647A_90A6, 0x5F74_899E, 0x5A6E_8296, 0x5568_7B8E, 0x5163_7587, 0x4D5E_6F80, 0x4959_697A,
    0x4555_6474, 0x4250_5F6E, 0x3E4C_5A68, 0x3B48_5663, 0x3845_515E, 0x3541_4D59, 0x333E_4955,
    0x303B_4550, 0x2E38_424C, 0x2B35_3F48, 0x2932_3B45, 0x2730_3841, 0x252D_363E, 0x232B_333B,
    0x2129_3038, 0x2027_2E35, 0x1E25_2B32, 0x1D23_2930, 0x1B21_272D, 0x1A1F_252B, 0x181E_2329,
    0x171C_2127, 0x161B_2025, 0x151A_1E23, 0x1418_1D21, 0x1317_1B1F, 0x1216_1A1E, 0x1115_191C,
    0x1014_171B, 0x0F13_1619, 0x0E12_1518, 0x0E11_1417, 0x0D10_1316, 0x0C0F_1215, 0x0C0E_1114,
    0x0B0E_1013, 0x0B0D_0F12, 0x0A0C_0F11, 0x0A0C_0E10, 0x090B_0D0F, 0x090B_0C0E, 0x080A_0C0E,
    0x0809_0B0D, 0x0709_0B0C, 0x0709_0A0C, 0x0708_0A0B, 0x0608_090B, 0x0607_090A, 0x0607_0809,
    0x0202_0202,
  ]

  /// `transIdxLps` (table 9-47).
  private static let lessLikely: [UInt8] = [
    0, 0, 1, 2, 2, 4, 4, 5, 6, 7, 8, 9, 9, 11, 11, 12, 13, 13, 15, 15, 16, 16, 18, 18, 19, 19, 21,
    21, 22, 22, 23, 24, 24, 25, 26, 26, 27, 27, 28, 29, 29, 30, 30, 30, 31, 32, 32, 33, 33, 33, 34,
    34, 35, 35, 35, 36, 36, 36, 37, 37, 37, 38, 38, 63,
  ]
}

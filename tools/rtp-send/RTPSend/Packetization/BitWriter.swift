/// Writes fields of any number of bits, the highest first.
struct BitWriter {
  private(set) var bytes: [UInt8] = []
  private(set) var count = 0

  /// Appends the `length` lowest bits of `value`.
  mutating func write(_ value: UInt32, bits length: Int) {
    for place in stride(from: length - 1, through: 0, by: -1) {
      if count.isMultiple(of: 8) { bytes.append(0) }
      let bit = UInt8(truncatingIfNeeded: value >> UInt32(place) & 1)
      bytes[bytes.count - 1] |= bit << UInt8(7 - count % 8)
      count += 1
    }
  }

  mutating func write(_ values: some Sequence<UInt8>) {
    if count.isMultiple(of: 8) {
      bytes += values
      count = bytes.count * 8
    } else {
      for value in values { write(UInt32(value), bits: 8) }
    }
  }
}

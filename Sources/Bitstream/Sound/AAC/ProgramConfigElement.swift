/// The loudspeakers of a program that no channel configuration describes (ISO/IEC 14496-3
/// §4.4.1.1).
struct ProgramConfigElement: Sendable, Hashable {
  /// Front, side, back and low-frequency channels.
  let channels: Int

  /// Reads an element; `start` is where the configuration around it begins, from which it is
  /// aligned.
  init(reading reader: inout BitReader, from start: Int) throws(BitReader.Exhausted) {
    // The instance tag, the object type and the sampling frequency.
    try reader.skip(4 + 2 + 4)
    var elements: [Int] = []
    for _ in 0..<3 { elements.append(Int(try reader.bits(4))) }
    let lowFrequency = Int(try reader.bits(2))
    let data = Int(try reader.bits(3))
    let coupling = Int(try reader.bits(4))
    // How to mix to mono, to stereo, and by a matrix.
    if try reader.bit() { try reader.skip(4) }
    if try reader.bit() { try reader.skip(4) }
    if try reader.bit() { try reader.skip(3) }
    var channels = lowFrequency
    for count in elements {
      for _ in 0..<count {
        channels += try reader.bit() ? 2 : 1
        try reader.skip(4)
      }
    }
    try reader.skip(4 * lowFrequency + 4 * data + 5 * coupling)
    try reader.skip((8 - (reader.position - start) % 8) % 8)
    try reader.skip(8 * Int(try reader.bits(8)))
    self.channels = channels
  }
}

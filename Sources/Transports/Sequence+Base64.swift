extension Sequence<UInt8> {
  /// The bytes in base64, with padding (RFC 4648 §4).
  package var base64: [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(underestimatedCount / 3 * 4 + 4)
    var bits = 0
    var count = 0
    for byte in self {
      bits = bits << 8 | Int(byte)
      count += 1
      guard count == 3 else { continue }
      for shift in [18, 12, 6, 0] { text.append(alphabet[bits >> shift & 0x3F]) }
      (bits, count) = (0, 0)
    }
    guard count > 0 else { return text }
    bits <<= 8 * (3 - count)
    for place in 0..<4 {
      text.append(
        place <= count ? alphabet[bits >> (18 - 6 * place) & 0x3F] : UInt8(ascii: "="))
    }
    return text
  }
}

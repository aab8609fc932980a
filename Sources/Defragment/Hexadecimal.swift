import NIOCore

/// Bytes of SDP parameters in hexadecimal, such as the `config` of RFC 3640 and RFC 6416.
enum Hexadecimal {
  /// The bytes that `text` spells, up to the first character that is no digit; a last single digit
  /// counts as the upper half of a byte.
  static func decode(_ text: some StringProtocol) -> ByteBuffer {
    var bytes = ByteBufferAllocator().buffer(capacity: text.utf8.count / 2)
    var upper: UInt8?
    // Some senders quote the value.
    for character in text.utf8 where character != UInt8(ascii: "\"") {
      guard let digit = Character(Unicode.Scalar(character)).hexDigitValue else { break }
      if let high = upper {
        bytes.writeInteger(high << 4 | UInt8(digit))
        upper = nil
      } else {
        upper = UInt8(digit)
      }
    }
    if let upper { bytes.writeInteger(upper << 4) }
    return bytes
  }
}

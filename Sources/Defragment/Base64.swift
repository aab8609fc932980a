import NIOCore

/// Base64 of SDP parameter sets; tolerates what senders leave out.
enum Base64 {
  /// The decoded bytes of `text`, up to the first character outside the alphabet.
  ///
  /// Padding may be missing, and a stray last character is ignored: some cameras truncate the text.
  static func decode(_ text: some StringProtocol) -> ByteBuffer {
    var bytes = ByteBufferAllocator().buffer(capacity: text.utf8.count)
    var bits: UInt32 = 0
    var count = 0
    for character in text.utf8 {
      let value: UInt8
      switch character {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
      case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
      case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
      case UInt8(ascii: " "), UInt8(ascii: "\t"): continue
      default: return bytes
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.writeInteger(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }
}

import NIOCore

/// Decodes base64 that comes in pieces, and that may be several texts one after the other
/// (RFC 4648 §4).
struct Base64Reader: Sendable, Equatable {
  private var bits: UInt32 = 0
  /// Letters of the group of four that has begun.
  private var count = 0

  /// What the next piece says; `nil` if it is not base64.
  mutating func read(_ text: ByteBuffer) -> ByteBuffer? {
    var bytes = ByteBuffer()
    bytes.reserveCapacity(text.readableBytes / 4 * 3 + 3)
    for letter in text.readableBytesView {
      switch letter {
      case UInt8(ascii: "="):
        // The second sign of a padding finds no group.
        guard count != 1 else { return nil }
        if count > 1 { write(count - 1, to: &bytes, shift: count == 2 ? 4 : 2) }
      // Some clients fold lines.
      case UInt8(ascii: "\r"), UInt8(ascii: "\n"), UInt8(ascii: " "): continue
      default:
        guard let value = Self.value(of: letter) else { return nil }
        bits = bits << 6 | value
        count += 1
        if count == 4 { write(3, to: &bytes, shift: 0) }
      }
    }
    return bytes
  }

  /// Ends a group, of whose bits `shift` are padding.
  private mutating func write(_ length: Int, to bytes: inout ByteBuffer, shift: UInt32) {
    let value = bits >> shift
    for place in (0..<length).reversed() {
      bytes.writeInteger(UInt8(truncatingIfNeeded: value >> (8 * UInt32(place))))
    }
    (bits, count) = (0, 0)
  }

  private static func value(of letter: UInt8) -> UInt32? {
    switch letter {
    case 65...90: UInt32(letter - 65)
    case 97...122: UInt32(letter - 71)
    case 48...57: UInt32(letter + 4)
    case 43: 62
    case 47: 63
    default: nil
    }
  }
}

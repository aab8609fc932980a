/// The bytes of a header field as text, and back without a loss.
///
/// Cameras write their name into the realm of a login in Latin-1 or GBK, and want it back byte for
/// byte, alone and in the digest (RFC 7616 §3.4). As with Python's `surrogateescape`, bytes that
/// are no UTF-8 become scalars that nobody writes: of a private area, which messages show as
/// U+FFFD.
extension String {
  /// The text of `bytes`, which may have any encoding.
  init(headerBytes bytes: [UInt8]) {
    if let text = String(validating: bytes, as: UTF8.self),
      !text.unicodeScalars.contains(where: { $0.escapedByte != nil })
    {
      self = text
      return
    }
    self.init()
    for byte in bytes { unicodeScalars.append(Unicode.Scalar(escaping: byte)) }
  }

  /// The bytes that the text was made of, or its UTF-8.
  var headerBytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count)
    for scalar in unicodeScalars {
      if let byte = scalar.escapedByte {
        bytes.append(byte)
      } else {
        bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
      }
    }
    return bytes
  }
}

extension Unicode.Scalar {
  /// The scalars of the bytes 0x80 … 0xFF.
  private static let escapes: ClosedRange<UInt32> = 0xF780...0xF7FF

  /// ASCII as it is, and another byte as the scalar that stands for it.
  fileprivate init(escaping byte: UInt8) {
    self = byte < 0x80 ? Self(byte) : Self(Self.escapes.lowerBound - 0x80 + UInt32(byte)) ?? "?"
  }

  /// The byte for which this scalar stands.
  fileprivate var escapedByte: UInt8? {
    Self.escapes.contains(value) ? UInt8(truncatingIfNeeded: value - 0xF700) : nil
  }
}

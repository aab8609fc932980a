/// The text form of keys, one per line: `SUITE BASE64(key and salt) [IDENTIFIER in hexadecimal]`.
///
/// It is read from bytes only, since a `String` cannot be wiped.
enum SRTPKeyText {
  /// Reads all lines; empty ones are skipped.
  ///
  /// - Throws: ``SRTPError``, in which `name` is the source of the keys.
  static func keys(
    in text: UnsafeRawBufferPointer, named name: String
  ) throws(SRTPError) -> [SRTPKeyMaterial] {
    var keys: [SRTPKeyMaterial] = []
    var start = text.startIndex
    var number = 0
    while start < text.endIndex {
      var end = start
      while end < text.endIndex, unsafe text[end] != 0x0A, unsafe text[end] != 0x0D { end += 1 }
      number += 1
      let words = unsafe words(of: text[start..<end])
      start = end + 1
      // CRLF ends one line, not two.
      if start < text.endIndex, unsafe text[end] == 0x0D, unsafe text[start] == 0x0A { start += 1 }
      guard !words.isEmpty else { continue }
      guard keys.count < SRTPSession.maximumKeys else {
        throw .tooManyKeys(limit: SRTPSession.maximumKeys)
      }
      let parts: (suite: SRTPSuite, secret: SecretBytes, identifier: [UInt8])
      do throws(SRTPError.LineFault) {
        parts = try unsafe self.parts(of: words, in: text)
      } catch { throw .keySource(name, .line(number, error)) }
      let key = try SRTPKeyMaterial(
        suite: parts.suite, keyAndSalt: parts.secret, identifier: parts.identifier)
      keys.append(key)
    }
    guard !keys.isEmpty else { throw .keySource(name, .empty) }
    return keys
  }

  private static func words(of line: Slice<UnsafeRawBufferPointer>) -> [Range<Int>] {
    var words: [Range<Int>] = []
    var start: Int?
    for index in unsafe line.indices {
      let isBlank = unsafe line[index] == 0x20 || line[index] == 0x09
      if isBlank, let first = start {
        words.append(first..<index)
        start = nil
      } else if !isBlank, start == nil {
        start = index
      }
    }
    if let start { unsafe words.append(start..<line.endIndex) }
    return words
  }

  private static func parts(
    of words: [Range<Int>], in text: UnsafeRawBufferPointer
  ) throws(SRTPError.LineFault) -> (SRTPSuite, SecretBytes, [UInt8]) {
    guard let suite = unsafe SRTPSuite(name: text[words[0]]) else { throw .unknownSuite }
    guard words.count > 1 else { throw .keyMissing }
    guard words.count < 4 else { throw .excessWords }
    guard let secret = unsafe SecretBytes(base64: text[words[1]]) else { throw .notBase64 }
    guard words.count == 3 else { return (suite, secret, []) }
    var identifier: [UInt8] = []
    let digits = words[2]
    guard digits.count.isMultiple(of: 2) else { throw .notHexadecimal }
    for index in stride(from: digits.lowerBound, to: digits.upperBound, by: 2) {
      let pair = unsafe String(decoding: text[index..<index + 2], as: UTF8.self)
      guard pair.allSatisfy(\.isHexDigit), let byte = UInt8(pair, radix: 16) else {
        throw .notHexadecimal
      }
      identifier.append(byte)
    }
    return (suite, secret, identifier)
  }
}

extension SecretBytes {
  /// Decodes Base64 (RFC 4648 §4), with padding or without it, as some senders write it.
  convenience init?(base64 text: some RandomAccessCollection<UInt8>) {
    var digits = text[...]
    var padding = 0
    while digits.last == UInt8(ascii: "="), padding < 2 {
      digits.removeLast()
      padding += 1
    }
    let count = digits.count
    guard count % 4 != 1, padding == 0 || (count + padding).isMultiple(of: 4) else { return nil }
    self.init(count: count / 4 * 3 + max(count % 4 - 1, 0))
    var bits: UInt32 = 0
    var pending = 0
    var isValid = true
    unsafe withBytes { bytes in
      var written = 0
      for digit in digits {
        guard let value = Self.value(of: digit) else {
          isValid = false
          return
        }
        bits = bits << 6 | value
        pending += 6
        guard pending >= 8 else { continue }
        pending -= 8
        unsafe bytes[written] = UInt8(truncatingIfNeeded: bits >> UInt32(pending))
        written += 1
      }
    }
    guard isValid else { return nil }
  }

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}

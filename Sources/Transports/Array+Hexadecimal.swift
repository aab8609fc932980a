extension [UInt8] {
  /// Reads pairs of hexadecimal digits; white space and colons between them are for the reader.
  init?(hexadecimal text: some StringProtocol) {
    let digits = text.filter { !$0.isWhitespace && $0 != ":" }.map(\.hexDigitValue)
    guard digits.count.isMultiple(of: 2) else { return nil }
    self = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      append(UInt8(high << 4 | low))
    }
  }
}

/// The bytes that `text` spells in hexadecimal; white space between them is for the reader.
public func bytes(_ text: String) -> [UInt8] {
  let characters = text.filter { !$0.isWhitespace }
  let digits = characters.compactMap(\.hexDigitValue)
  precondition(
    digits.count == characters.count && digits.count.isMultiple(of: 2), "not bytes: \(text)")
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

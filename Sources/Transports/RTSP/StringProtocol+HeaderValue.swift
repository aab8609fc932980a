/// Parsing of header field values.
extension StringProtocol where SubSequence == Substring {
  /// The parts between separators; a separator inside double quotes does not count.
  func partsOutsideQuotes(separator: UInt8) -> [Substring] {
    var parts: [Substring] = []
    var start = startIndex
    var isQuoted = false
    for (index, byte) in zip(utf8.indices, utf8) {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      guard byte == separator, !isQuoted else { continue }
      parts.append(self[start..<index])
      start = utf8.index(after: index)
    }
    parts.append(self[start...])
    return parts
  }

  /// The two sides of `name=value`, without surrounding white space and quotes, the name in lower
  /// case; `nil` without an equals sign.
  var parameter: (name: String, value: String)? {
    let parts = split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    var value = parts[1].trimmed
    if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") {
      value = value.dropFirst().dropLast().trimmed
    }
    return (parts[0].trimmed.lowercased(), value)
  }

  /// The whole number, if the text consists of digits and surrounding white space only.
  var decimal: Int? {
    let text = trimmed
    return text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }
}

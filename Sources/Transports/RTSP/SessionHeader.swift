/// The Session field of a response (RFC 2326 §12.37).
struct SessionHeader: Sendable, Hashable {
  /// At most ``maximumLength`` bytes, without white space.
  let identifier: String
  /// The `timeout` parameter, in seconds.
  private(set) var timeout: Int?

  /// Reads `identifier[;timeout=seconds]`; `nil` when the identifier is missing or too long.
  init?(_ text: String) {
    let parts = text.split(separator: ";", maxSplits: Self.maximumParts)
    guard let first = parts.first?.split(whereSeparator: \.isWhitespace).first,
      !text.hasPrefix(";"), first.utf8.count <= Self.maximumLength
    else { return nil }
    identifier = String(first)
    for part in parts.dropFirst() {
      guard let (name, value) = part.parameter, name == "timeout" else { continue }
      timeout = value.prefix { $0.isASCII && $0.isNumber }.decimal
      if timeout != nil { return }
    }
  }

  /// Bytes; Wowza and others use about ten, and a signed identifier may have a few hundred.
  private static let maximumLength = 1 << 10
  /// How many parts of a field are read; only one has a meaning.
  private static let maximumParts = 8
}

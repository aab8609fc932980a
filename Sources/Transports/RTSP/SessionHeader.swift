/// The Session field of a response (RFC 2326 §12.37).
struct SessionHeader: Sendable, Hashable {
  /// At most ``maximumLength`` bytes, without white space.
  let identifier: String
  /// Seconds, as `timeout`.
  private(set) var timeout: Int?

  /// Reads `identifier[;timeout=seconds]`; `nil` when there is no identifier, or one that is longer
  /// than any server's.
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

  /// Bytes; Wowza and others use some ten, and a signed one may have a few hundred.
  private static let maximumLength = 1 << 10
  /// Parts of a field that are looked at; there is one that means anything.
  private static let maximumParts = 8
}

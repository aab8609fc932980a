internal import BlockingIO

/// The bytes of a hello or a heartbeat as they are typed: as text, as `@FILE`, or as `hex:…`.
struct HelloBytes: Sendable {
  let bytes: [UInt8]

  /// - Throws: that the file cannot be read, that the digits are none, or that there are not 1 to
  ///   64 bytes.
  init(parsing argument: String, for option: String) throws(OptionFault) {
    if argument.hasPrefix("@") {
      bytes = try Self.content(of: String(argument.dropFirst()), for: option)
    } else if argument.hasPrefix("hex:") {
      guard let decoded = [UInt8](hexadecimal: argument.dropFirst(4)) else {
        throw OptionFault("--\(option): hex: takes pairs of hexadecimal digits")
      }
      bytes = decoded
    } else {
      bytes = [UInt8](argument.utf8)
    }
    guard (1...Self.limit).contains(bytes.count) else {
      throw OptionFault("a hello or heartbeat has 1 to 64 bytes, not \(bytes.count)")
    }
  }

  /// In bytes.
  private static let limit = 64

  /// The first bytes of a file: one more than a hello may have, so that a longer file is noticed.
  private static func content(
    of path: String, for option: String
  ) throws(OptionFault) -> [UInt8] {
    do {
      return try ShortFile(at: path, limit: limit).bytes
    } catch { throw OptionFault("--\(option): cannot read \(path): \(error.reason)") }
  }
}

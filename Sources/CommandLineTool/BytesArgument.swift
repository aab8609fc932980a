import ArgumentParser
import Glibc

/// Bytes given on the command line: as text, as `@FILE`, or as `hex:…`.
struct BytesArgument {
  let bytes: [UInt8]

  /// - Throws: that the file cannot be read, or that the digits are none.
  init(parsing argument: String) throws {
    if argument.hasPrefix("@") {
      bytes = try Self.content(of: String(argument.dropFirst()))
    } else if argument.hasPrefix("hex:") {
      guard let decoded = Self.decode(hex: argument.dropFirst(4)) else {
        throw ValidationError("hex: takes pairs of hexadecimal digits")
      }
      bytes = decoded
    } else {
      bytes = [UInt8](argument.utf8)
    }
  }

  /// The first bytes of a file: one more than a hello may have, so that a longer file is noticed.
  private static func content(of path: String) throws -> [UInt8] {
    guard let file = unsafe fopen(path, "re") else {
      throw ValidationError("cannot read \(path): \(unsafe String(cString: strerror(errno)))")
    }
    defer { unsafe fclose(file) }
    var content = [UInt8](repeating: 0, count: 65)
    let count = unsafe fread(&content, 1, content.count, file)
    return Array(content.prefix(count))
  }

  private static func decode(hex: Substring) -> [UInt8]? {
    let digits = hex.filter { !$0.isWhitespace && $0 != ":" }.map(\.hexDigitValue)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      bytes.append(UInt8(high << 4 | low))
    }
    return bytes
  }
}

import ArgumentParser
import Foundation

/// Bytes given on the command line: as text, as `@FILE`, or as `hex:…`.
struct BytesArgument: ExpressibleByArgument {
  let bytes: [UInt8]

  init?(argument: String) {
    if argument.hasPrefix("@") {
      guard let data = FileManager.default.contents(atPath: String(argument.dropFirst())) else {
        return nil
      }
      bytes = [UInt8](data)
    } else if argument.hasPrefix("hex:") {
      guard let decoded = Self.decode(hex: argument.dropFirst(4)) else { return nil }
      bytes = decoded
    } else {
      bytes = [UInt8](argument.utf8)
    }
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

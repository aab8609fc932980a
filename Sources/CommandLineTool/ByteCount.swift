import ArgumentParser

/// A number of bytes, as people write it: `400kB`, `500GB`, `64MiB`.
struct ByteCount {
  /// The first that a text ends in is meant.
  private static let units: [(name: String, bytes: Int64)] = [
    ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
    ("TiB", 1 << 40), ("B", 1),
  ]

  static let unitNames = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"

  let bytes: Int64

  /// Reads a number above 0 with its unit; `nil` for anything else.
  init?(_ text: Substring) {
    guard let unit = Self.units.first(where: { text.hasSuffix($0.name) }),
      let count = Int64(text.dropLast(unit.name.count)), count > 0
    else { return nil }
    let (product, overflow) = count.multipliedReportingOverflow(by: unit.bytes)
    guard !overflow else { return nil }
    bytes = product
  }

  /// Reads the value of an option that has always taken plain bytes too.
  static func readPlain(_ text: String) throws -> Int {
    guard let bytes = Int(text) ?? ByteCount(text[...]).flatMap({ Int(exactly: $0.bytes) }) else {
      throw ValidationError("a size is a number of bytes, or a number and \(unitNames)")
    }
    return bytes
  }
}

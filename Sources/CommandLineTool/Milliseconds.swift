import ArgumentParser

/// The time of an option that has always taken plain milliseconds too: `200`, `200ms`, `0.2s`.
enum Milliseconds {
  /// Reads an option's value, and rounds it to whole milliseconds.
  static func read(_ text: String) throws -> Int {
    if let number = Int(text) { return number }
    guard let time = TimeSpan(text) else {
      throw ValidationError(
        "a time is a number of milliseconds, or a number and its unit, such as 200ms or 0.2s: "
          + TimeSpan.unitNames)
    }
    return Int((time.seconds * 1000).rounded())
  }
}

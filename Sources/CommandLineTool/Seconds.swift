import ArgumentParser

/// The time of an option that has always taken plain seconds too: `3`, `0.5`, `3s`, `10m`.
struct Seconds {
  let seconds: Double

  /// Reads an option's value.
  static func read(_ text: String) throws -> Seconds {
    guard let seconds = Double(text) ?? TimeSpan(text)?.seconds else {
      throw ValidationError(
        "a time is a number of seconds, or a number and its unit, such as 90s or 10m: "
          + TimeSpan.unitNames)
    }
    return Seconds(seconds: seconds)
  }
}

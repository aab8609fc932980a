import RTPWire

/// What a client wants to see, in normal play time (RFC 2326 §3.6).
struct PlayRange: Sendable, Equatable {
  /// Nanoseconds from the beginning; `nil` for now, which is where a paused stream stopped.
  var start: Int64?
  /// `nil` where it is open.
  var end: Int64?

  /// Reads the value of `Range:`; `nil` for other units, and for what is not a range.
  init?(_ value: String) {
    let text = value.split(separator: ";", maxSplits: 1).first.map(\.trimmed) ?? ""
    guard let equals = text.firstIndex(of: "="),
      text[..<equals].trimmed.lowercased() == "npt"
    else { return nil }
    let range = text[text.index(after: equals)...].trimmed
    guard let dash = range.firstIndex(of: "-") else { return nil }
    let (first, last) = (range[..<dash].trimmed, range[range.index(after: dash)...].trimmed)
    guard !first.isEmpty || !last.isEmpty else { return nil }
    // Without a beginning it is the present one (RFC 7826 §4.4.2).
    if !first.isEmpty, first.lowercased() != "now" {
      guard let time = Self.time(first) else { return nil }
      start = time
    }
    if !last.isEmpty {
      guard let time = Self.time(last) else { return nil }
      end = time
    }
  }

  /// Seconds with a fraction, or hours, minutes and seconds.
  private static func time(_ text: String) -> Int64? {
    let words = text.split(separator: ":", omittingEmptySubsequences: false)
    guard words.count == 1 || words.count == 3 else { return nil }
    var seconds = 0.0
    for word in words {
      guard word.utf8.allSatisfy({ (48...57).contains($0) || $0 == 46 }), let number = Double(word)
      else { return nil }
      seconds = seconds * 60 + number
    }
    return Int64(clamping: (seconds * 1_000_000_000).rounded())
  }

  /// `nanoseconds` as seconds with three places.
  static func text(_ nanoseconds: Int64) -> String {
    let milliseconds = max(0, nanoseconds).addingSaturating(500_000) / 1_000_000
    let fraction = String(milliseconds % 1000)
    return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
  }
}

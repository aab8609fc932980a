extension String {
  /// How many letters must be put in, taken out or replaced (Levenshtein).
  package func editDistance(to other: String) -> Int {
    let letters = Array(other)
    var row = Array(0...letters.count)
    for (index, letter) in enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in letters.indices {
        let replaced = diagonal + (letters[column] == letter ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = Swift.min(replaced, diagonal + 1, row[column] + 1)
      }
    }
    return row[letters.count]
  }

  /// Words that are farther from each other are no slip of the fingers, and short ones are not when
  /// half of their letters differ.
  private static let longestSlip = 3

  /// Whether it may have been typed for `other`; hyphens before it are no letters of it.
  package func isSlip(for other: String) -> Bool {
    let slips = other.editDistance(to: self)
    return slips <= Self.longestSlip && slips * 2 < drop { $0 == "-" }.count
  }
}

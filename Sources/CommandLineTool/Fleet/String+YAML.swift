extension String {
  /// In quotation marks, as YAML reads it back; the characters for which `isHidden` holds are
  /// numbers in it.
  func quotedForYAML(hiding isHidden: (Unicode.Scalar) -> Bool) -> String {
    guard unicodeScalars.contains(where: isHidden) else {
      return "'\(replacing("'", with: "''"))'"
    }
    // Only these quotation marks know escapes (YAML 1.2 §5.7).
    return unicodeScalars.reduce(into: "\"") { quoted, scalar in
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where isHidden(scalar):
        let digits = String(scalar.value, radix: 16)
        quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    } + "\""
  }
}

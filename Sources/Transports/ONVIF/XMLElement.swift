/// An element of an XML document, by its local name.
///
/// Prefixes are left out: cameras choose them freely, and many declare them wrongly or not at all.
struct XMLElement: Sendable, Hashable {
  /// Without prefix.
  let name: String
  /// By their names without prefix.
  var attributes: [String: String] = [:]
  /// The text directly inside, without white space around it.
  var text = ""
  var children: [XMLElement] = []

  /// The first child of a name.
  subscript(name: String) -> XMLElement? { children.first { $0.name == name } }

  /// The first element of a name inside this one, in the order of the document.
  func first(_ name: String) -> XMLElement? {
    for child in children {
      if child.name == name { return child }
      if let found = child.first(name) { return found }
    }
    return nil
  }

  /// All elements of a name inside this one, in the order of the document.
  func all(_ name: String) -> [XMLElement] {
    children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) }
  }

  /// The whole number that is its text.
  var number: Int? { Int(text) }
}

extension String {
  /// The text for the content of an element; characters that XML does not have are left out
  /// (XML 1.0 §2.2).
  var escapedForXML: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "\t", "\n", "\r": text += "&#\(scalar.value);"
      case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": break
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}

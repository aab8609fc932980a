import Yams

/// What is wrong with a text that is no YAML, in words for whoever wrote it.
struct YAMLFault {
  /// `nil` where the parser names no place.
  let place: FleetFile.Place?
  let words: String

  init(_ error: YamlError, in text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    place = Self.place(of: error, in: lines)
    words = Self.words(on: error, at: place, in: lines)
  }

  /// Where the text of `lines` is no YAML.
  private static func place(of error: YamlError, in lines: [Substring]) -> FleetFile.Place? {
    switch error {
    case .scanner(_, _, let mark, _), .parser(_, _, let mark, _), .composer(_, _, let mark, _):
      FleetFile.Place(line: mark.line, column: mark.column)
    case .duplicatedKeysInMapping(let names, let context):
      second(
        names.first ?? "",
        behind: FleetFile.Place(line: context.mark.line, column: context.mark.column), in: lines)
    default: nil
    }
  }

  /// Where the key `name` stands again that stands at `first`; `first` where it is on one line with
  /// others.
  private static func second(
    _ name: String, behind first: FleetFile.Place, in lines: [Substring]
  ) -> FleetFile.Place {
    let indentation = max(first.column - 1, 0)
    for (index, line) in lines.enumerated().dropFirst(first.line) {
      let content = line.drop { $0 == " " }
      guard !content.isEmpty, !content.hasPrefix("#") else { continue }
      let depth = line.count - content.count
      guard depth >= indentation else { break }
      let bare = content.drop { "\"'".contains($0) }
      let rest = bare.dropFirst(name.count).drop { "\"' ".contains($0) }
      if depth == indentation, bare.hasPrefix(name), rest.hasPrefix(":") {
        return FleetFile.Place(line: index + 1, column: first.column)
      }
    }
    return first
  }

  /// What is wrong with the text of `lines`.
  private static func words(
    on error: YamlError, at place: FleetFile.Place?, in lines: [Substring]
  ) -> String {
    guard case .scanner = error, let place, lines.indices.contains(place.line - 1) else {
      return problem(of: error)
    }
    let line = lines[place.line - 1]
    // What libyaml says of a tab depends on what is before it.
    if line.prefix(while: \.isWhitespace).contains("\t") {
      return "this line begins with a tab; YAML takes spaces only"
    }
    // YAML keeps these for itself: a name with the time begins with %, and a pipe is -.
    guard let first = line.dropFirst(place.column - 1).first, "%@`-".contains(first) else {
      return problem(of: error)
    }
    return "a value that begins with \(first) is put in quotes: '…'"
  }

  private static func problem(of error: YamlError) -> String {
    switch error {
    case .scanner(_, let problem, _, _), .parser(_, let problem, _, _),
      .composer(_, let problem, _, _), .reader(let problem, _, _, _):
      problem
    case .duplicatedKeysInMapping(let names, _): FleetFile.repetition(of: names.first ?? "")
    default: "\(error)"
    }
  }
}

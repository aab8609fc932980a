@testable import CommandLineTool

extension FuzzTarget {
  /// The file of a fleet, which is YAML.
  static let fleet = FuzzTarget("fleet") { choices in
    let text = String(decoding: choices.all(), as: UTF8.self)
    do throws(FleetFile.Fault) {
      let file = try FleetFile(text, path: "fleet.yaml")
      try check(file)
    } catch {
      if let place = error.place {
        try require(place.line >= 1 && place.column >= 1, "\(error)")
      }
      try require(!error.words.isEmpty, "a fault without words")
      try require(
        !error.description.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F },
        "\(error.description.debugDescription) changes the terminal")
    }
  }

  private static func check(_ file: FleetFile) throws(FleetFile.Fault) {
    let names = file.cameras.map(\.name)
    precondition(Set(names).count == names.count, "two cameras with one name")
    precondition(names.allSatisfy { (1...63).contains($0.utf8.count) }, "names")
    precondition(file.cameras.allSatisfy { !$0.source.isEmpty }, "a camera without a source")
  }
}

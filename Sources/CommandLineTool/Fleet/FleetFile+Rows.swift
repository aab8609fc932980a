/// Cameras one by one, as a cluster has them.
extension FleetFile {
  /// Each camera as a file that says the same of it alone, by its name.
  var rows: [String: String] {
    cameras.reduce(into: [:]) { rows, camera in rows[camera.name] = camera.row }
  }
}

extension FleetFile.Camera {
  fileprivate var row: String {
    let defaults = entries.filter(\.isDefault).map { "  " + $0.line }
    let own = entries.filter { !$0.isDefault }.map { "    " + $0.line }
    let shared = defaults.isEmpty ? [] : ["defaults:"] + defaults
    let lines =
      ["version: 1"] + shared
      + ["cameras:", "  \(name):", "    source: \(FleetFile.Value.text(source).written)"] + own
    return lines.joined(separator: "\n") + "\n"
  }
}

extension FleetFile.Entry {
  fileprivate var line: String {
    // Where systemd puts it is another place on each machine.
    if let credential { return "credential: \(FleetFile.Value.text(credential).written)" }
    let texts = values.map(\.written)
    return "\(key): " + (texts.count == 1 ? texts[0] : "[\(texts.joined(separator: ", "))]")
  }
}

extension FleetFile.Value {
  /// As YAML reads it back, without what looks like an anchor or an alias, which no row may have.
  fileprivate var written: String {
    switch self {
    case .flag(let isSet): isSet ? "true" : "false"
    case .text(let text): text.quotedForYAML { $0 == "&" || $0 == "*" || $0.value < 0x20 }
    }
  }
}

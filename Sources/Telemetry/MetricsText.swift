/// Metrics as text: OpenMetrics 1.0, or what Prometheus read before it.
struct MetricsText {
  private let format: MetricsFormat
  private let help: [String: String]
  private var text = ""

  /// `help` has the words about each figure, by its name.
  init(_ format: MetricsFormat, help: [String: String]) {
    (self.format, self.help) = (format, help)
  }

  /// Adds all figures of one name; `name` is that of ``name(_:of:)``.
  mutating func add(_ cells: [MetricCell], of kind: MetricCell.Kind, named name: String) {
    let isInfo = kind == .gauge && name.hasSuffix("_info")
    let sample = kind.word == "counter" ? name + "_total" : name
    // OpenMetrics describes the family, Prometheus what is collected.
    let (family, word) =
      switch format {
      case .openMetrics where isInfo: (String(name.dropLast("_info".count)), "info")
      case .openMetrics: (name, kind.word)
      case .prometheus: (sample, kind.word)
      }
    text += "# TYPE \(family) \(word)\n"
    if format == .openMetrics, let unit = Self.units.first(where: { family.hasSuffix("_\($0)") }) {
      text += "# UNIT \(family) \(unit)\n"
    }
    if let help = help[sample] { text += "# HELP \(family) \(help)\n" }
    for cell in cells {
      switch kind {
      case .counter, .floatingCounter, .gauge:
        text += sample
        text += cell.labels
        text += " "
        text += cell.kind == .counter ? String(cell.count) : Self.number(cell.value)
        text += "\n"
      case .summary:
        text += "\(name)_sum\(cell.labels) \(Self.number(cell.value))\n"
        text += "\(name)_count\(cell.labels) \(cell.count)\n"
      }
    }
  }

  func finished() -> String { format == .openMetrics ? text + "# EOF\n" : text }

  /// The base units that names end with.
  private static let units = ["bytes", "seconds", "ratio"]

  /// The name of the family of what swift-metrics calls `label`, in the letters that are allowed.
  static func name(_ label: String, of kind: MetricCell.Kind) -> String {
    var name = ""
    for scalar in label.unicodeScalars {
      switch scalar {
      case "a"..."z", "A"..."Z", "_", ":": name.unicodeScalars.append(scalar)
      case "0"..."9" where !name.isEmpty: name.unicodeScalars.append(scalar)
      default: name += "_"
      }
    }
    let isNamed = kind.word == "counter" && name.hasSuffix("_total")
    return isNamed ? String(name.dropLast("_total".count)) : name
  }

  /// Labels in braces, in the order in which they are given; empty without any.
  static func labels(_ dimensions: [(String, String)]) -> String {
    guard !dimensions.isEmpty else { return "" }
    let pairs = dimensions.map { name, value in
      "\(Self.name(name, of: .gauge).replacing(":", with: "_"))=\"\(escaped(value))\""
    }
    return "{\(pairs.joined(separator: ","))}"
  }

  /// By scalars, as whoever reads it: a quotation mark with an accent is another `Character`, and
  /// so is a line feed behind a carriage return.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"": escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
    // Numbers of bytes in full.
    if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
    return String(value)
  }
}

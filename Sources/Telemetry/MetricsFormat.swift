/// How metrics are written.
public enum MetricsFormat: Sendable, Hashable, CaseIterable {
  /// OpenMetrics 1.0.
  case openMetrics
  /// Prometheus' own text, version 0.0.4, which everything reads.
  case prometheus

  /// As the header Content-Type names it.
  public var contentType: String {
    switch self {
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
    }
  }

  /// The format for whoever sends this header Accept (RFC 9110 §12.5.1): OpenMetrics where it is
  /// named and no less welcome than plain text.
  public init(accept header: String?) {
    var (open, plain) = (0.0, 0.0)
    for range in (header ?? "").lowercased().split(separator: ",") {
      let parts = range.split(separator: ";").map { $0.trimmingSpaces }
      let parameters = parts.dropFirst().map { $0.split(separator: "=", maxSplits: 1) }
      func parameter(_ name: String) -> Substring? {
        parameters.first { $0.first.map { $0.trimmingSpaces } == name[...] && $0.count == 2 }
          .map { $0[1].trimmingSpaces }
      }
      let quality = parameter("q").map { Double($0) ?? 0 } ?? 1
      let version = parameter("version") ?? "1.0.0"
      switch parts.first {
      case "application/openmetrics-text" where ["1.0.0", "0.0.1"].contains(version):
        open = max(open, quality)
      case "text/plain", "text/*": plain = max(plain, quality)
      default: break
      }
    }
    self = open > 0 && open >= plain ? .openMetrics : .prometheus
  }
}

extension Substring {
  fileprivate var trimmingSpaces: Substring {
    var text = self
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}

import RTPWire

/// What a figure is called, and what it counts, for the programs that collect it.
struct MetricFamily: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    /// It only grows.
    case counter
    /// It is what it is now.
    case gauge
    /// It is always 1, and its labels say something.
    case info
  }

  /// As it is collected, such as `rtp_recv_packets_lost_total`.
  let name: String
  let kind: Kind
  /// One sentence.
  let help: String

  /// Before every name that is not of the process.
  static let prefix = "rtp_recv_"

  init(_ kind: Kind, _ name: String, _ help: String) {
    switch kind {
    case .counter: self.name = "\(Self.prefix)\(name)_total"
    case .gauge: self.name = Self.prefix + name
    case .info: self.name = "\(Self.prefix)\(name)_info"
    }
    self.kind = kind
    self.help = help
  }

  /// One of the process, whose name all programs share.
  init(ofProcess kind: Kind, _ name: String, _ help: String) {
    (self.kind, self.name, self.help) = (kind, "process_\(name)", help)
  }

  /// That of a counter, which is declared beside it.
  init(_ metric: Metric, isTotal: Bool) {
    self.init(isTotal ? .counter : .gauge, metric.name, metric.help)
  }
}

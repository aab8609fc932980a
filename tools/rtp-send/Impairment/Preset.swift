/// Networks that people know by name, as clauses of a plan.
public enum Preset: String, Sendable, CaseIterable {
  case wifi, lte, satellite, congested, powerline

  /// What the name stands for.
  public var clauses: String {
    switch self {
    case .wifi: "delay 5ms jitter 4ms paretonormal correlation 50%, burst-loss 0.5% 3"
    case .lte: "rate 20M queue 250k, delay 40ms jitter 12ms normal correlation 70%, loss 0.1%"
    case .satellite: "rate 10M queue 1M, delay 300ms jitter 5ms normal, burst-loss 0.3% 6"
    case .congested: "rate 3M queue 48k, delay 30ms jitter 10ms pareto, loss 1%"
    case .powerline: "delay 8ms jitter 10ms pareto correlation 60%, burst-loss 2% 8"
    }
  }

  /// All of them with their clauses, for the help.
  public static var help: String {
    allCases.map { preset in
      "    \(preset.rawValue)\n"
        + preset.clauses.split(separator: ",").map { "        " + $0.drop { $0 == " " } }
        .joined(separator: ",\n")
    }.joined(separator: "\n")
  }
}

public import CoreMetrics
import Synchronization

/// How often a configuration was read again, and whether the last time went well.
public final class ConfigurationMetrics: Sendable {
  private let state: Mutex<(good: Figure, bad: Figure, last: Figure)>

  /// Makes them for a configuration that was read without a mistake.
  public init(factory: any MetricsFactory = MetricsSystem.factory) {
    func reloads(_ result: String) -> Figure {
      Figure(Reading(.reloads, count: 0), [("result", result)], factory)
    }
    var last = Figure(Reading(.lastReload, now: 1), [], factory)
    last.set(.now(1))
    state = Mutex((reloads("ok"), reloads("failed"), last))
  }

  /// Notes that it was read again.
  public func noteReload(isGood: Bool) {
    state.withLock { state in
      if isGood { state.good.add(1) } else { state.bad.add(1) }
      state.last.set(.now(isGood ? 1 : 0))
    }
  }
}

extension MetricFamily {
  static let reloads = MetricFamily(
    .counter, "config_reloads", "Times that the configuration was read again, by result.")
  static let lastReload = MetricFamily(
    .gauge, "config_last_reload_successful", "1 if the configuration in force is the latest one.")
}

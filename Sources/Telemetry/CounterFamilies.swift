import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Transports

/// The counters of a table with what they are called as metrics.
struct CounterFamilies<Statistics: Counted>: Sendable {
  private struct Row: Sendable {
    let counter: Counter<Statistics>
    let family: MetricFamily
    let labels: [Reading.Label]
  }

  private let rows: [Row]

  init() {
    rows = Statistics.counters.compactMap { counter in
      counter.metric.map { metric in
        Row(
          counter: counter, family: MetricFamily(metric, isTotal: counter.total == .sum),
          labels: metric.labels)
      }
    }
  }

  /// The figures of `statistics`, each with `labels` too.
  func readings(_ statistics: Statistics, _ labels: [Reading.Label] = []) -> [Reading] {
    rows.map { row in
      let count = statistics[keyPath: row.counter.path]
      return Reading(
        family: row.family, labels: labels + row.labels,
        value: row.family.kind == .counter ? .count(count) : .now(Double(count)))
    }
  }
}

extension Metric {
  var labels: [Reading.Label] { label.map { [Reading.Label($0.name, $0.value)] } ?? [] }
}

extension TransportCounter {
  func reading(_ count: UInt64) -> Reading {
    let family = MetricFamily(metric, isTotal: joining == .sum)
    return Reading(
      family: family, labels: metric.labels,
      value: family.kind == .counter ? .count(count) : .now(Double(count)))
  }
}

extension OutputFigure {
  /// `nil` if it says nothing to those who watch many.
  func reading(_ labels: [Reading.Label]) -> Reading? {
    metric.map { metric in
      Reading(
        family: MetricFamily(metric, isTotal: isTotal), labels: labels + metric.labels,
        value: isTotal ? .count(value) : .now(Double(value)))
    }
  }
}

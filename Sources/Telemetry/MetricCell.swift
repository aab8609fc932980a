import CoreMetrics
import Synchronization

/// One figure of a ``MetricsRegistry``.
final class MetricCell: Sendable, CounterHandler, FloatingPointCounterHandler, MeterHandler,
  RecorderHandler, TimerHandler
{
  enum Kind: Sendable, Hashable {
    case counter, floatingCounter, gauge, summary

    /// As the text names it.
    var word: String {
      switch self {
      case .counter, .floatingCounter: "counter"
      case .gauge: "gauge"
      case .summary: "summary"
      }
    }
  }

  let kind: Kind
  /// That of its family.
  let name: String
  /// As they stand in the text, in braces; empty without any.
  let labels: String
  private let whole = Atomic<Int64>(0)
  /// The bits of a number with a fraction.
  private let bits = Atomic<UInt64>(0)

  init(_ kind: Kind, name: String, labels: String) {
    (self.kind, self.name, self.labels) = (kind, name, labels)
  }

  /// How often something was added.
  var count: Int64 { whole.load(ordering: .relaxed) }

  /// The value; of a summary, the sum.
  var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func increment(by amount: Int64) { whole.wrappingAdd(amount, ordering: .relaxed) }

  func increment(by amount: Double) {
    // A counter does not fall.
    if amount > 0, amount.isFinite || kind != .floatingCounter { change { $0 + amount } }
  }

  func decrement(by amount: Double) { change { $0 - amount } }

  func set(_ value: Int64) { set(Double(value)) }

  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    guard kind == .summary else { return set(value) }
    whole.wrappingAdd(1, ordering: .relaxed)
    change { $0 + value }
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

  func reset() {
    whole.store(0, ordering: .relaxed)
    set(0.0)
  }

  private func change(_ body: (Double) -> Double) {
    var former = bits.load(ordering: .relaxed)
    while true {
      let changed = body(Double(bitPattern: former)).bitPattern
      let (isDone, found) = bits.compareExchange(
        expected: former, desired: changed, ordering: .relaxed)
      if isDone { return }
      former = found
    }
  }
}

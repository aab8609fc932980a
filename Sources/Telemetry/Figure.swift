import CoreMetrics

/// One figure as swift-metrics has it, which counts up and is never set.
struct Figure: Sendable {
  private enum Instrument: Sendable {
    case counter(any CounterHandler)
    case seconds(any FloatingPointCounterHandler)
    case meter(any MeterHandler)
  }

  private let instrument: Instrument
  /// What the run has come to, as far as it was counted.
  private var counted: UInt64 = 0
  private var seconds = 0.0

  init(_ reading: Reading, _ labels: [(String, String)], _ factory: any MetricsFactory) {
    let name = reading.family.name
    // Of what it is called, only a backend of ours wants to know what it means.
    (factory as? MetricsRegistry)?.describe(reading.family)
    instrument =
      switch reading.value {
      case .count: .counter(factory.makeCounter(label: name, dimensions: labels))
      case .seconds: .seconds(factory.makeFloatingPointCounter(label: name, dimensions: labels))
      case .now: .meter(factory.makeMeter(label: name, dimensions: labels))
      }
  }

  /// A run begins, whose counters begin with 0.
  mutating func begin() { (counted, seconds) = (0, 0) }

  /// Counts what has been added since the last time.
  ///
  /// A few counters of a run can fall, because a packet was taken for something else at first;
  /// those stand still until they are beyond where they were.
  mutating func set(_ value: Reading.Value) {
    switch (value, instrument) {
    case (.count(let total), .counter(let instrument)):
      guard total > counted else { return }
      instrument.increment(by: Int64(clamping: total - counted))
      counted = total
    case (.seconds(let total), .seconds(let instrument)):
      guard total > seconds else { return }
      instrument.increment(by: total - seconds)
      seconds = total
    case (.now(let value), .meter(let instrument)): instrument.set(value)
    default: break
    }
  }

  /// Counts something that is no total of a run.
  func add(_ count: UInt64) {
    if case .counter(let instrument) = instrument {
      instrument.increment(by: Int64(clamping: count))
    }
  }

  func destroy(_ factory: any MetricsFactory) {
    switch instrument {
    case .counter(let instrument): factory.destroyCounter(instrument)
    case .seconds(let instrument): factory.destroyFloatingPointCounter(instrument)
    case .meter(let instrument): factory.destroyMeter(instrument)
    }
  }
}

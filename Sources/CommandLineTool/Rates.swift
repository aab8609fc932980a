import Receiver

/// What came in the last two seconds, for the live line.
struct Rates {
  private(set) var change = StreamTotals()
  /// Whether there is nothing that will change by itself.
  var areZero: Bool { change.frames == 0 && change.bytes == 0 }
  /// Whole seconds since the run began, as a clock shows them: `0:07`, or `1:02:07`.
  private(set) var clock = "0:00"
  private var samples: [StreamTotals] = []

  /// In seconds.
  private static let window = 2.0

  mutating func note(_ status: Receiver.Status, at elapsed: Duration) {
    let last = StreamTotals(status, at: elapsed)
    clock = Self.clock(at: elapsed.components.seconds)
    if let idle = samples.last, last.since(idle).seconds > Self.window {
      // Nobody looked because nothing happened, so what came has just come.
      samples = [idle]
      samples[0].seconds = last.seconds
      return change = StreamTotals()
    }
    samples.append(last)
    while let first = samples.first, last.since(first).seconds > Self.window {
      samples.removeFirst()
    }
    change = samples.first.map(last.since) ?? StreamTotals()
  }

  private static func clock(at seconds: Int64) -> String {
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes) = (seconds / 60).quotientAndRemainder(dividingBy: 60)
    let rest = two(seconds % 60)
    return hours > 0 ? "\(hours):\(two(minutes)):\(rest)" : "\(minutes):\(rest)"
  }
}

import Defragment
import RTPWire

/// How fast the sender's clock runs, by the arrivals: some cameras count 25 pictures in the time in
/// which they send 21.
///
/// Networks only delay, so what came with the least delay in ten seconds is compared with the same
/// a minute later. A buffer that fills looks like a slow clock, but not for three minutes.
struct SenderPace {
  /// Clocks that are right differ by some millionths.
  private static let leastDeviation = 0.01
  /// A server that sends as fast as it can has no pace.
  private static let plausible = 0.5...2.0
  /// How much the minutes may differ, as a part of the deviation.
  private static let greatestDifference = 0.25
  private static let minutes = 3
  private static let window = Duration.seconds(10)
  private static let minute = Duration.seconds(60)
  /// A delay that changes by so much from picture to picture is a leap or an outage.
  private static let leap = Duration.seconds(1)

  private struct Delay {
    var nanoseconds: Int64
    var arrival: Instant
  }

  /// Media time in a second of arrivals, and the ticks of the clock in it.
  struct Pace: Sendable, Hashable {
    var ratio: Double
    var clockRate: UInt32
  }

  /// Once it is known that the clock is wrong.
  private(set) var wrong: Pace?
  private var last: Int64?
  private var open: (start: Instant, least: Delay)?
  private var anchor: Delay?
  private var ratios: [Double] = []

  mutating func note(_ unit: AccessUnit) {
    guard wrong == nil else { return }
    let delay = Delay(
      nanoseconds: unit.firstArrival.nanoseconds.subtractingSaturating(unit.time.nanoseconds),
      arrival: unit.firstArrival)
    let change = delay.nanoseconds.subtractingSaturating(last ?? delay.nanoseconds)
    last = delay.nanoseconds
    if change.magnitude > UInt64(Self.leap.wholeNanoseconds) {
      (open, anchor, ratios) = (nil, nil, [])
    }
    guard let window = open else { return open = (delay.arrival, delay) }
    if window.start.duration(to: delay.arrival) < Self.window {
      if delay.nanoseconds < window.least.nanoseconds { open = (window.start, delay) }
      return
    }
    open = (delay.arrival, delay)
    compare(window.least, clockRate: unit.time.timescale)
  }

  /// Compares the least delay of a window with that of a minute before, each with its arrival.
  private mutating func compare(_ least: Delay, clockRate: UInt32) {
    guard let former = anchor else { return anchor = least }
    guard former.arrival.duration(to: least.arrival) >= Self.minute else { return }
    anchor = least
    let passed = former.arrival.nanoseconds(to: least.arrival)
    let delayed = least.nanoseconds.subtractingSaturating(former.nanoseconds)
    ratios.append(1 - Double(delayed) / Double(passed))
    if ratios.count > Self.minutes { ratios.removeFirst() }
    guard ratios.count == Self.minutes, let slowest = ratios.min(), let fastest = ratios.max()
    else { return }
    let mean = ratios.reduce(0, +) / Double(ratios.count)
    guard ratios.allSatisfy({ abs($0 - 1) >= Self.leastDeviation }), Self.plausible.contains(mean),
      fastest - slowest <= Self.greatestDifference * abs(mean - 1)
    else { return }
    // Three digits are more than is known.
    let tenths = (Double(clockRate) * mean / 10).rounded()
    wrong = UInt32(exactly: tenths * 10).map { Pace(ratio: mean, clockRate: $0) }
  }
}

import RTPWire

/// The least delay of a stream: how much later than by its own clock it came, at best.
///
/// Networks only delay. What came with the least delay in the last seconds was delayed by the
/// network's and the sender's constant part alone.
struct LeastDelay: Sendable {
  /// A delay in nanoseconds, with what its picture says of the order.
  struct Delay: Sendable, Hashable {
    var nanoseconds: Int64
    /// By how much it is shown later than it is decoded.
    var lead: Int64
  }

  /// Half of what counts; 200 ppm are 1 ms in that time.
  private static let period: Duration = .seconds(5)
  /// A leap of the timestamps, or of the arrivals.
  private static let leap: Duration = .seconds(5)

  /// The newest time.
  private(set) var last: MediaTime?
  private var lastArrival = Instant(nanoseconds: 0)
  private var begun = Instant(nanoseconds: 0)
  private var current: Delay?
  private var previous: Delay?

  var least: Delay? {
    guard let current else { return nil }
    return Self.lesser(previous, current)
  }

  /// Whether the times leap with this one, further than the arrivals explain.
  func leaps(to time: MediaTime, arrival: Instant) -> Bool {
    guard let last else { return false }
    let step = time.nanoseconds.subtractingSaturating(last.nanoseconds)
    let passed = max(0, lastArrival.nanoseconds(to: arrival))
    let leap = Self.leap.wholeNanoseconds
    return step < -leap || step > passed.addingSaturating(leap)
  }

  /// Notes what came.
  mutating func note(_ time: MediaTime, arrival: Instant, lead: Int64 = 0) {
    (last, lastArrival) = (time, arrival)
    let delay = Delay(
      nanoseconds: arrival.nanoseconds.subtractingSaturating(time.nanoseconds), lead: lead)
    if let least,
      least.nanoseconds.subtractingSaturating(delay.nanoseconds).magnitude
        > UInt64(Self.leap.wholeNanoseconds)
    {
      (current, previous) = (nil, nil)
    }
    let age = begun.duration(to: arrival)
    if current == nil || age > Self.period {
      previous = age > Self.period * 2 ? nil : current
      (current, begun) = (delay, arrival)
    } else {
      current = Self.lesser(current, delay)
    }
  }

  /// The earlier one of two that are equal.
  private static func lesser(_ one: Delay?, _ other: Delay) -> Delay {
    guard let one, one.nanoseconds <= other.nanoseconds else { return other }
    return one
  }
}

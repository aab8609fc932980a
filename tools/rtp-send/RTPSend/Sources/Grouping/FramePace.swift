/// When the pictures of a live source without times of its own are decoded, in ticks of 90 kHz.
///
/// They follow each other at a constant rate, so that what jitters when they are written does not
/// show. Only where they come half a second too late, because the writer paused or has another
/// rate, does the time go on to where they are.
struct FramePace {
  /// The rate of a stream that says nothing.
  static let usualRate = 25.0
  /// How far pictures may be from their time.
  private static let tolerance = 45_000.0
  /// A rate is measured over a second at least.
  private static let shortestMeasurement = 90_000.0
  /// Pictures that come more than so many times as fast were written before anybody read them.
  private static let backlogSpeed = 8.0

  private var ticksPerField: Double
  private let isFixed: Bool
  /// The time of the next picture.
  private var time = 0.0
  /// Where time and arrival were the same.
  private var anchor: (arrival: Double, time: Double)?
  /// Since when the rate is measured, and how many fields have come since.
  private var measurement = (arrival: 0.0, fields: 0.0)
  private var lastArrival = 0.0

  /// A rate that somebody set is kept; one that the stream says may be wrong.
  init(framesPerSecond: Double?, isFixed: Bool) {
    ticksPerField = 45_000 / (framesPerSecond ?? Self.usualRate)
    self.isFixed = isFixed && framesPerSecond != nil
  }

  /// How long a frame lasts.
  var interval: Int64 { Int64((2 * ticksPerField).rounded()) }

  /// The time of the next picture, which came at `arrival`.
  mutating func next(fields: Int64, at arrival: Int64) -> Int64 {
    let arrival = Double(arrival)
    if let anchor {
      // A pause says nothing of the rate.
      if arrival - lastArrival > Self.tolerance { measurement = (arrival, 0) }
      let lead = time - anchor.time - (arrival - anchor.arrival)
      if abs(lead) > Self.tolerance {
        measure(at: arrival)
        if lead < 0 { time -= lead }
        self.anchor = (arrival, time)
      }
    } else {
      (anchor, measurement) = ((arrival, time), (arrival, 0))
    }
    lastArrival = arrival
    let present = time
    advance(by: fields)
    return Int64(present.rounded())
  }

  private mutating func measure(at arrival: Double) {
    let elapsed = arrival - measurement.arrival
    if elapsed >= Self.shortestMeasurement {
      if !isFixed, measurement.fields > 0 {
        ticksPerField = min(max(elapsed / measurement.fields, 90), 450_000)
      }
    } else if measurement.fields * ticksPerField <= Self.backlogSpeed * elapsed {
      // More has to come.
      return
    }
    measurement = (arrival, 0)
  }

  private mutating func advance(by fields: Int64) {
    time += Double(fields) * ticksPerField
    measurement.fields += Double(fields)
  }
}

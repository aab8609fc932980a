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
  /// A rate is measured over a second at least, so that pictures that were written at once, or
  /// before anybody read them, do not count.
  private static let shortestMeasurement = 90_000.0

  private var ticksPerField: Double
  private let isFixed: Bool
  /// The time of the next picture.
  private var time = 0.0
  /// Where time and arrival were the same, and how many fields have come since.
  private var anchor: (arrival: Double, time: Double, fields: Int64)?

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
      let elapsed = arrival - anchor.arrival
      let lead = time - anchor.time - elapsed
      if abs(lead) > Self.tolerance {
        if !isFixed, elapsed >= Self.shortestMeasurement, anchor.fields > 0 {
          ticksPerField = min(max(elapsed / Double(anchor.fields), 90), 450_000)
        }
        if lead < 0 { time -= lead }
        self.anchor = (arrival, time, 0)
      }
    } else {
      anchor = (arrival, time, 0)
    }
    let present = time
    advance(by: fields)
    return Int64(present.rounded())
  }

  /// Lets the time go on to `time` at least, for pictures whose times something else says.
  mutating func pass(_ time: Int64, fields: Int64) {
    self.time = max(self.time, Double(time))
    advance(by: fields)
    anchor = nil
  }

  private mutating func advance(by fields: Int64) {
    time += Double(fields) * ticksPerField
    anchor?.fields += fields
  }
}

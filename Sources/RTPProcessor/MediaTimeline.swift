import RTPWire

/// Maps 32-bit RTP timestamps to a 64-bit timeline that continues across restarts of the source.
struct MediaTimeline: Sendable {
  /// How many seconds a timestamp may lag behind the newest one on the same timeline: more than any
  /// reordering of pictures or packets.
  static let memory: Int64 = 10
  /// How many seconds timestamps and arrival times may differ about the length of an outage.
  private static let greatestDisagreement: Int64 = 1

  let clockRate: UInt32
  /// How many nanoseconds a quarter of the timestamps' period lasts.
  ///
  /// Behind a pause of twice as many, the nearest value is not that of a clock which went on.
  private let longPause: Int64
  private var last: Placement?

  /// A timestamp, the time that was given to it, and when it came.
  private typealias Placement = (timestamp: UInt32, ticks: Int64, arrival: Instant)

  init(clockRate: UInt32) {
    self.clockRate = clockRate
    longPause = (1 << 30) * 1_000_000_000 / Int64(max(clockRate, 1))
  }

  /// The newest timestamp seen, or `nil` before the first.
  private(set) var newest: UInt32?
  /// Whether a timestamp has been below an earlier one, as those of B pictures are.
  private(set) var stepsBack = false

  /// The time of `timestamp`, unwrapped to the value nearest to the previous packet, or behind a
  /// long pause to the one that the arrivals suggest.
  mutating func place(_ timestamp: UInt32, arrival: Instant) -> MediaTime {
    let ticks: Int64
    if let last {
      ticks = self.ticks(of: timestamp, at: arrival, behind: last)
    } else {
      ticks = Int64(timestamp)
    }
    last = (timestamp, ticks, arrival)
    if !isRecent(timestamp) {
      newest = timestamp
    } else if timestamp != newest {
      stepsBack = true
    }
    return MediaTime(ticks: ticks, timescale: clockRate)
  }

  /// The time of `timestamp` without moving the timeline; `nil` before the first packet.
  func time(of timestamp: UInt32) -> MediaTime? {
    last.flatMap { time(of: timestamp, at: $0.arrival) }
  }

  /// The time of `timestamp`, which came at `arrival`, without moving the timeline; `nil` before
  /// the first packet.
  func time(of timestamp: UInt32, at arrival: Instant) -> MediaTime? {
    last.map {
      MediaTime(ticks: ticks(of: timestamp, at: arrival, behind: $0), timescale: clockRate)
    }
  }

  private func ticks(of timestamp: UInt32, at arrival: Instant, behind last: Placement) -> Int64 {
    let pause = last.arrival.nanoseconds(to: arrival)
    let nearest = last.ticks &+ Int64(Self.difference(from: last.timestamp, to: timestamp))
    guard pause > longPause else { return nearest }
    let elapsed = Instant(nanoseconds: pause).ticks(at: clockRate)
    let expected = last.timestamp &+ UInt32(truncatingIfNeeded: elapsed)
    let deviation = Int64(Self.difference(from: expected, to: timestamp))
    // Clocks drift apart by less than a thousandth. One that stood still meanwhile says nothing of
    // the pause.
    let tolerance = Self.memory * Int64(clockRate) &+ (elapsed >> 10)
    guard Int64(deviation.magnitude) <= tolerance else { return nearest }
    return last.ticks &+ elapsed &+ deviation
  }

  /// The timeline for timestamps at another rate, which have nothing to do with those before
  /// (RFC 7160 §2): only the time goes on.
  func counted(at clockRate: UInt32) -> MediaTimeline {
    var timeline = MediaTimeline(clockRate: clockRate)
    guard let last else { return timeline }
    let time = MediaTime(ticks: last.ticks, timescale: self.clockRate)
    let ticks = Instant(nanoseconds: time.nanoseconds).ticks(at: clockRate)
    timeline.last = (last.timestamp, ticks, last.arrival)
    return timeline
  }

  /// Starts a new numbering at `timestamp`, at the time that the arrivals suggest.
  ///
  /// Where the sender's clock simply continued during an outage, the timeline follows it.
  ///
  /// On another connection, a `newSession`, time always moves forward.
  ///
  /// - Returns: whether the timestamps continued, so that earlier sender reports still apply.
  @discardableResult
  mutating func restart(at timestamp: UInt32, arrival: Instant, newSession: Bool = false) -> Bool {
    guard var last else { return true }
    if newSession, let newest, let time = time(of: newest) {
      last = (newest, time.ticks, last.arrival)
    }
    let passed = Instant(nanoseconds: max(0, last.arrival.nanoseconds(to: arrival)))
    let elapsed = max(passed.ticks(at: clockRate), newSession ? 1 : 0)
    let step = Int64(Self.difference(from: last.timestamp, to: timestamp))
    let disagreement = elapsed &- step
    guard
      disagreement.magnitude > UInt64(clockRate) * UInt64(Self.greatestDisagreement)
        || newSession && step <= 0
    else { return true }
    self.last = (timestamp, last.ticks &+ elapsed, arrival)
    newest = timestamp
    return false
  }

  /// Whether `timestamp` lies within the last seconds: neither new nor from another timeline.
  func isRecent(_ timestamp: UInt32) -> Bool {
    guard let newest else { return false }
    let step = Int64(Self.difference(from: newest, to: timestamp))
    return (-Self.memory * Int64(clockRate)...0).contains(step)
  }

  /// Whether a packet with `timestamp` may be missing among those that came: it is recent, or of a
  /// picture that is shown after B pictures which were sent behind it.
  func mayLack(_ timestamp: UInt32) -> Bool {
    guard let newest else { return false }
    let step = Int64(Self.difference(from: newest, to: timestamp))
    let reach = Self.memory * Int64(clockRate)
    return (-reach...(stepsBack ? reach : 0)).contains(step)
  }

  static func difference(from one: UInt32, to other: UInt32) -> Int32 {
    Int32(truncatingIfNeeded: Int64(other) - Int64(one))
  }
}

public import RTPWire

/// Maps media time to wall-clock time through RTCP sender reports (RFC 3550 §6.4.1).
public struct ClockMapping: Sendable, Hashable {
  /// How a sender report was judged.
  enum Outcome: Sendable, Hashable {
    case mapped
    /// The sender has no wall clock: it sends 0, which §6.4.1 allows, or all ones.
    case withoutWallClock
    /// Its wall clock is earlier than that of the previous report.
    case backwards
    /// Wall clock and timestamp disagree by more than ``ClockMapping/greatestDrift`` about the time
    /// since the previous report. A second report that agrees with this one is accepted.
    case implausible
  }

  /// How far the two clocks of a report may drift apart between two reports.
  ///
  /// Xenon cameras send wrong reports, and some cameras are far ahead after PAUSE and PLAY.
  public static let greatestDrift: Duration = .seconds(5)

  private var anchor: Anchor?
  private var doubted: Anchor?

  private struct Anchor: Sendable, Hashable {
    var ntpTime: UInt64
    var time: MediaTime
  }

  public init() {}

  /// Adds a report whose timestamp is `time` on the stream's timeline.
  mutating func note(_ report: RTCPPacket.SenderReport, at time: MediaTime) -> Outcome {
    guard report.ntpTime != 0, report.ntpTime != .max else { return .withoutWallClock }
    let new = Anchor(ntpTime: report.ntpTime, time: time)
    if let anchor {
      let elapsed = Self.nanoseconds(from: anchor.ntpTime, to: report.ntpTime)
      let drift = elapsed.subtractingSaturating(Self.nanoseconds(from: anchor.time, to: time))
      if drift.magnitude > UInt64(Self.greatestDrift.wholeNanoseconds) {
        let confirmed = doubted.map { Self.agree($0, new) } ?? false
        doubted = new
        guard confirmed else { return elapsed < 0 ? .backwards : .implausible }
      } else if elapsed < 0 {
        return .backwards
      }
    }
    anchor = new
    doubted = nil
    return .mapped
  }

  /// Forgets everything: the media time has a new origin.
  mutating func reset() { self = ClockMapping() }

  /// The wall-clock time of `time`, by the last usable sender report, to the nanosecond.
  ///
  /// `nil` before the first such report. It is the sender's own clock, right or wrong.
  public func captureTime(of time: MediaTime) -> WallClockTime? {
    anchor.map { anchor in
      WallClockTime(ntpTime: anchor.ntpTime)
        .advanced(byNanoseconds: Self.nanoseconds(from: anchor.time, to: time))
    }
  }

  /// Whether `other` is a later report of the same clock.
  ///
  /// The same report again proves nothing.
  private static func agree(_ one: Anchor, _ other: Anchor) -> Bool {
    let elapsed = nanoseconds(from: one.ntpTime, to: other.ntpTime)
    let drift = elapsed.subtractingSaturating(nanoseconds(from: one.time, to: other.time))
    return elapsed > 0 && drift.magnitude <= UInt64(greatestDrift.wholeNanoseconds)
  }

  private static func nanoseconds(from one: UInt64, to other: UInt64) -> Int64 {
    let difference = Int64(bitPattern: other &- one)
    let fraction = difference & 0xFFFF_FFFF
    return (difference >> 32) &* 1_000_000_000 &+ ((fraction &* 1_000_000_000) >> 32)
  }

  private static func nanoseconds(from one: MediaTime, to other: MediaTime) -> Int64 {
    let ticks = other.ticks.subtractingSaturating(one.ticks)
    let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Int64(one.timescale))
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    // Rounded to the nearest: a clock of 90 kHz ticks every 11,111.1 ns.
    let half = rest < 0 ? -Int64(one.timescale) / 2 : Int64(one.timescale) / 2
    let fraction = (rest &* 1_000_000_000 &+ half) / Int64(one.timescale)
    return overflow ? (seconds < 0 ? .min : .max) : scaled.addingSaturating(fraction)
  }
}

import RTPWire

/// How far the times of frames may call for repeated ones, so that times that leap with every frame
/// do not fill a disk.
///
/// In all, as much is filled as time has passed, and ``ConstantRate/longestLead`` more; besides,
/// each frame that comes earns a few: what is sent faster than it is shown, such as a file, has its
/// pauses too.
struct RepeatAllowance: Sendable {
  /// How many repeated frames each one earns.
  private static let perFrame = 4.0

  /// Seconds that may be filled, which arrivals bring.
  private var credit = ConstantRate.longestLead
  /// Repeated frames that were earned.
  ///
  /// They are no seconds: the sender may change the rate after each frame.
  private var spare = 0.0
  /// Of what has come so far; pictures come in another order than they are shown in.
  private var newestArrival: Instant?
  /// How many seconds after the others the last frame came.
  private var elapsed = 0.0

  /// Notes when the next frame came.
  mutating func note(_ arrival: Instant) {
    elapsed = max(0, newestArrival?.duration(to: arrival).seconds ?? 0)
    newestArrival = max(newestArrival ?? arrival, arrival)
    credit = min(credit + elapsed, ConstantRate.longestPause)
  }

  /// How many seconds may be filled before the frame that came last, at `rate` frames a second.
  func seconds(at rate: Double) -> Double {
    min(ConstantRate.longestPause, elapsed + ConstantRate.longestLead, credit + spare / rate)
  }

  /// Notes that a frame goes on at `rate`, behind `missing` repeated ones.
  mutating func take(_ missing: Int, at rate: Double) {
    let earned = min(Double(missing), spare)
    credit = max(0, credit - (Double(missing) - earned) / rate)
    // Time in which nothing came is kept until the media has caught up: a network that stalls
    // brings it later.
    let stalled = credit - ConstantRate.longestLead
    if stalled > 0 { credit -= min(stalled, (earned + 1) / rate) }
    spare = min(spare - earned + Self.perFrame, ConstantRate.longestLead * rate)
  }
}

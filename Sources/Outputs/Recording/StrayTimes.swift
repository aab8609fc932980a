import Defragment
import RTPWire

/// Finds single pictures whose time is wrong, and places them between their neighbours.
///
/// Intelbras recorders stamp a picture every few seconds with a time hours away. A picture whose
/// time leaps waits for the next one: if that goes on from the one before, nothing leapt.
struct StrayTimes {
  /// How far a time may be from where the arrivals have it: no order of decoding explains more.
  private static let greatestDistance = Duration.seconds(10)
  /// The same in pictures, for streams with few of them.
  private static let greatestDistanceInPictures: Int64 = 64
  /// Enough for the distance of pictures, in whatever order they are decoded.
  private static let remembered = 8

  private var newest: (time: MediaTime, arrival: Instant)?
  /// The last step forward, in nanoseconds; 0 before it, when nothing is far away.
  private var interval: Int64 = 0
  /// The times of the last pictures, in nanoseconds.
  private var recent: [Int64] = []
  private var doubtful: AccessUnit?

  /// Takes the next picture; those that are in no doubt any more, in order.
  mutating func take(_ unit: AccessUnit) -> [AccessUnit] {
    guard let doubt = doubtful.take() else {
      guard leaps(to: unit) else {
        note(unit)
        return [unit]
      }
      doubtful = unit
      return []
    }
    if let newest, !leaps(to: unit), isNearer(unit, to: newest.time, than: doubt.time) {
      let placed = doubt.placed(at: time(of: doubt, behind: newest.time, before: unit.time))
      note(unit)
      return [placed, unit]
    }
    begin(with: doubt)
    return [doubt] + take(unit)
  }

  /// The picture that still waits, because nothing more comes.
  mutating func finish() -> AccessUnit? { doubtful.take() }

  private func leaps(to unit: AccessUnit) -> Bool {
    guard let newest, newest.time.timescale == unit.time.timescale, interval > 0 else {
      return false
    }
    let step = unit.time.nanoseconds(since: newest.time)
    let passed = max(newest.arrival.nanoseconds(to: unit.firstArrival), 0)
    let limit = max(
      Self.greatestDistance.wholeNanoseconds,
      interval.multipliedSaturating(by: Self.greatestDistanceInPictures))
    return step < -limit || step.subtractingSaturating(passed) > limit
  }

  /// A leap of just the limit is one picture's and not the next one's, by how they arrive.
  private func isNearer(
    _ unit: AccessUnit, to newest: MediaTime, than doubt: MediaTime
  ) -> Bool {
    unit.time.nanoseconds(since: newest).magnitude < unit.time.nanoseconds(since: doubt).magnitude
  }

  /// A key picture is shown behind all that were decoded before it, and before all others; of other
  /// pictures only the neighbours are known.
  private func time(
    of unit: AccessUnit, behind newest: MediaTime, before next: MediaTime
  ) -> MediaTime {
    let middle = max(next.nanoseconds(since: newest) / 2, 0)
    let distance = DecodingTimes.interval(of: recent) ?? middle
    return newest.advanced(byNanoseconds: unit.isEntryPoint ? distance : middle)
  }

  private mutating func note(_ unit: AccessUnit) {
    guard let newest, newest.time.timescale == unit.time.timescale else {
      return begin(with: unit)
    }
    let step = unit.time.nanoseconds(since: newest.time)
    // The first of all may be the one that is wrong.
    if interval == 0, step < -Self.greatestDistance.wholeNanoseconds { return begin(with: unit) }
    recent.append(unit.time.nanoseconds)
    if recent.count > Self.remembered { recent.removeFirst() }
    guard step > 0 else { return }
    interval = step
    self.newest = (unit.time, unit.firstArrival)
  }

  private mutating func begin(with unit: AccessUnit) {
    newest = (unit.time, unit.firstArrival)
    recent = [unit.time.nanoseconds]
  }
}

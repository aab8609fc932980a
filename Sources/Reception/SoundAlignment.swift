public import RTPProcessor
public import RTPWire

/// Maps the times of sound onto the timeline of the pictures.
///
/// Each RTP clock starts anywhere and runs at its own speed. RTCP sender reports tie both to the
/// sender's wall clock (RFC 3550 §6.4.1); until both streams have them, what came with the least
/// delay does. The mapping changes slowly, so that no sound is doubled or left out.
public struct SoundAlignment: Sendable {
  /// What ties the two streams together.
  public enum Source: Sendable, Hashable {
    case arrivals
    case reports
  }

  /// Corrections, in millionths of the time that passes: twice what clocks differ, and inaudible.
  static let greatestSlew: Int64 = 500
  /// The same while the mapping is new: by arrivals as long as few of them are known, and
  /// after the first reports until they are followed, because some senders send pictures ahead.
  static let settlingSlew: Int64 = 50_000
  static let settlingTime: Duration = .seconds(5)
  /// Nearer than this, the reports are followed.
  static let visible: Duration = .milliseconds(5)
  /// What is corrected at once.
  static let hardStep: Duration = .milliseconds(500)
  /// Reports that differ by more from the arrivals are ignored: some cameras send wrong ones.
  static let greatestDisagreement: Duration = .seconds(5)
  /// How long the arrivals may contradict the reports as much before these are forgotten: a stalled
  /// network makes everything late.
  static let longestContradiction: Duration = .seconds(5)
  /// How many reports count; the median of them is right if a few are not.
  static let countedReports = 8

  public private(set) var source: Source?
  /// How often the mapping was changed at once.
  public private(set) var hardSteps = 0

  private var sound = LeastDelay()
  private var pictures = LeastDelay()
  private var soundClock = ClockMapping()
  private var pictureClock = ClockMapping()
  /// What the last reports say, in nanoseconds.
  private var reported: [Int64] = []
  /// Since when the arrivals contradict them.
  private var contradiction: Instant?
  /// Nanoseconds from a time of the sound to the same time on the pictures' timeline.
  private var current: Int64?
  private var mayStep = true
  /// The sound's time at the last call, and how long it has been mapped by arrivals alone.
  private var last: Int64?
  private var settled: Int64 = 0
  /// Whether the first reports are not followed yet.
  private var catchesUp = false

  public init() {}

  /// Notes when a picture came.
  public mutating func notePicture(_ time: MediaTime, arrival: Instant) {
    if pictures.note(time, arrival: arrival) { forgetReports() }
  }

  /// Notes when sound came.
  public mutating func noteSound(_ time: MediaTime, arrival: Instant) {
    if sound.note(time, arrival: arrival) { forgetReports() }
    guard let median, let seen = arrivalDifference, Self.disagree(seen, median) else {
      contradiction = nil
      return
    }
    let since = contradiction ?? arrival
    contradiction = since
    if since.duration(to: arrival) >= Self.longestContradiction { forgetReports() }
  }

  /// Takes the streams' own mappings to the wall clock, which change with every sender report.
  public mutating func noteClocks(sound: ClockMapping, pictures: ClockMapping) {
    guard sound != soundClock || pictures != pictureClock, let soundTime = self.sound.last,
      let pictureTime = self.pictures.last, let one = sound.captureTime(of: soundTime),
      let other = pictures.captureTime(of: pictureTime)
    else { return }
    (soundClock, pictureClock) = (sound, pictures)
    let difference = one.nanoseconds.subtractingSaturating(soundTime.nanoseconds)
      .subtractingSaturating(
        other.nanoseconds.subtractingSaturating(pictureTime.nanoseconds))
    if let seen = arrivalDifference, Self.disagree(seen, difference) { return }
    if reported.isEmpty { catchesUp = true }
    reported.append(difference)
    if reported.count > Self.countedReports { reported.removeFirst() }
  }

  /// Forgets what tied the sound's clock, which has begun anew.
  public mutating func restart() {
    sound = LeastDelay()
    forgetReports()
    (soundClock, pictureClock) = (ClockMapping(), ClockMapping())
    mayStep = true
    (settled, catchesUp) = (0, false)
  }

  /// `time`, of the sound, on the timeline of the pictures; `nil` before the first picture.
  public mutating func align(_ time: MediaTime) -> MediaTime? {
    guard let target else { return nil }
    let now = time.nanoseconds
    let elapsed = Int64(clamping: last.map { now.subtractingSaturating($0).magnitude } ?? 0)
    last = now
    guard let former = current else {
      current = target
      mayStep = false
      return time.advanced(byNanoseconds: target)
    }
    let error = target.subtractingSaturating(former)
    let next: Int64
    if mayStep || error.magnitude > UInt64(Self.hardStep.wholeNanoseconds) {
      if error != 0 { hardSteps += 1 }
      (next, mayStep) = (target, false)
    } else {
      if error.magnitude < UInt64(Self.visible.wholeNanoseconds) { catchesUp = false }
      let isNew = source == .arrivals && settled < Self.settlingTime.wholeNanoseconds
      let slew = isNew || catchesUp ? Self.settlingSlew : Self.greatestSlew
      // At most ten seconds, so that no gap of the sound makes it a step.
      let limit = min(elapsed, 10_000_000_000) * slew / 1_000_000
      next = former.addingSaturating(min(max(error, -limit), limit))
    }
    settled = settled.addingSaturating(elapsed)
    current = next
    return time.advanced(byNanoseconds: next)
  }

  /// Where the mapping should be.
  private var target: Int64? {
    mutating get {
      if let median {
        source = .reports
        return median
      }
      guard let difference = arrivalDifference else { return nil }
      source = .arrivals
      return difference
    }
  }

  /// What the reports say.
  private var median: Int64? {
    reported.isEmpty ? nil : reported.sorted()[reported.count / 2]
  }

  private mutating func forgetReports() { (reported, contradiction) = ([], nil) }

  private static func disagree(_ one: Int64, _ other: Int64) -> Bool {
    one.subtractingSaturating(other).magnitude > UInt64(greatestDisagreement.wholeNanoseconds)
  }

  private var arrivalDifference: Int64? {
    guard let sound = sound.least, let pictures = pictures.least else { return nil }
    return sound.subtractingSaturating(pictures)
  }
}

/// The least delay of a stream: how much later than by its own clock it came, at best.
///
/// Networks only delay. What came with the least delay in the last seconds was delayed by the
/// network's and the sender's constant part alone.
private struct LeastDelay: Sendable {
  /// Half of what counts; 200 ppm are 1 ms in that time.
  private static let period: Duration = .seconds(5)
  /// A leap of the timestamps, or of the arrivals.
  private static let leap: Duration = .seconds(5)

  /// The newest time.
  private(set) var last: MediaTime?
  private var lastArrival = Instant(nanoseconds: 0)
  private var begun = Instant(nanoseconds: 0)
  private var current: Int64?
  private var previous: Int64?

  var least: Int64? {
    guard let current else { return nil }
    return min(current, previous ?? current)
  }

  /// Notes what came; returns whether the times leapt, further than the arrivals explain.
  mutating func note(_ time: MediaTime, arrival: Instant) -> Bool {
    let step = time.nanoseconds.subtractingSaturating((last ?? time).nanoseconds)
    let passed = max(0, lastArrival.nanoseconds(to: arrival))
    let leap = Self.leap.wholeNanoseconds
    let isLeap = step < -leap || step > passed.addingSaturating(leap)
    (last, lastArrival) = (time, arrival)
    let delay = arrival.nanoseconds.subtractingSaturating(time.nanoseconds)
    if let least,
      least.subtractingSaturating(delay).magnitude > UInt64(Self.leap.wholeNanoseconds)
    {
      (current, previous) = (nil, nil)
    }
    let age = begun.duration(to: arrival)
    if current == nil || age > Self.period {
      previous = age > Self.period * 2 ? nil : current
      (current, begun) = (delay, arrival)
    } else {
      current = min(current ?? delay, delay)
    }
    return isLeap
  }
}

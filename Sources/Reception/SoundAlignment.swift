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
  private var pictures = PictureDelay()
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
  /// Whether the last picture's time leapt.
  private var hasLeapt = false
  /// Whether the first reports are not followed yet.
  private var catchesUp = false

  public init() {}

  /// Notes when a picture came.
  public mutating func notePicture(_ time: MediaTime, arrival: Instant) {
    if pictures.leaps(to: time, arrival: arrival) {
      // One picture may have a wrong time (Intelbras); two in a row have another clock. Until the
      // second, sound stays where it was.
      guard hasLeapt else { return hasLeapt = true }
      forgetReports()
    }
    hasLeapt = false
    pictures.note(time, arrival: arrival)
  }

  /// Notes when sound came.
  public mutating func noteSound(_ time: MediaTime, arrival: Instant) {
    if sound.leaps(to: time, arrival: arrival) { forgetReports() }
    sound.note(time, arrival: arrival)
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

  /// Forgets what tied the pictures' clock, which has begun anew.
  public mutating func restartPictures() {
    pictures = PictureDelay()
    forgetReports()
    pictureClock = ClockMapping()
    settled = 0
  }

  /// `time`, of the sound, on the timeline of the pictures; `nil` before the first picture.
  ///
  /// Sound that `mayWait` also waits, with `nil`, for the first mapping to be a good one: until the
  /// first pictures have shown in what order they come.
  public mutating func align(_ time: MediaTime, mayWait: Bool = false) -> MediaTime? {
    if mayWait, current == nil, reported.isEmpty, !pictures.isOrderKnown { return nil }
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
    guard let sound = sound.least?.nanoseconds, let pictures = pictures.least else { return nil }
    return sound.subtractingSaturating(pictures)
  }
}

import RTPWire

/// Which frames become pictures.
public struct PictureSelection: Sendable, Hashable {
  /// Media time from one picture to the next; `nil` takes every frame.
  public var interval: Duration?
  /// Whether frames that are not intact are taken too.
  public var takesDamaged = false
  /// Whether the numbers of files go on behind those of an earlier run, instead of replacing them.
  public var goesOn = false
  /// What is deleted of many, from time to time; numbers then go on, too, or a picture that is
  /// written could replace one that is being deleted, and be deleted in its place.
  public var retention: [RetentionRule] = []

  public init(interval: Duration? = nil, takesDamaged: Bool = false) {
    self.interval = interval
    self.takesDamaged = takesDamaged
  }
}

/// Says when pictures are due, by media time, so that a recording gives the same ones at any speed.
struct PictureSchedule {
  private let interval: Int64?
  private var due: Int64?

  /// Pictures every `interval`; without one, every frame is due.
  init(every interval: Duration?) { self.interval = interval.map { max(1, $0.wholeNanoseconds) } }

  /// Whether a picture is due at `time`; if so, it is taken.
  mutating func takes(_ time: MediaTime) -> Bool {
    guard let interval else { return true }
    let now = time.nanoseconds
    guard let due, due.subtractingSaturating(now) <= interval else {
      // The first one, or the clock went back.
      self.due = now.addingSaturating(interval)
      return true
    }
    guard now >= due else { return false }
    // A late one does not move the others.
    let lateness = now.subtractingSaturating(due) % interval
    self.due = now.subtractingSaturating(lateness).addingSaturating(interval)
    return true
  }
}

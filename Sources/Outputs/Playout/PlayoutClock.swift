public import RTPWire

/// When each picture and each piece of sound is to leave, so that they leave at their own pace
/// although they come in bursts.
///
/// A live source sets the pace, and its clock is never quite ours: what came with the least delay
/// shows how they stand to each other, and the difference is followed in steps too small to notice.
/// A recording has no pace of its own; it begins when its first frame comes, and waits for a reader
/// that stops.
public struct PlayoutClock: Sendable {
  /// The figures of playing out.
  public struct Statistics: Sendable, Hashable {
    /// How long everything waits at least for what comes late: the jitter that is smoothed.
    public var delay: Duration = .zero
    /// How much faster the sender's clock has run than this one, in millionths, over the whole run;
    /// `nil` in the first 10 seconds and for recordings.
    public var drift: Double?
    /// What came after its time.
    public var late: UInt64 = 0
    /// New beginnings, after a leap of the times or a stalled reader.
    public var restarts: UInt64 = 0
  }

  /// What is waited for at most: longer holes are shown as such.
  public static let longestDelay = Duration.milliseconds(500)
  /// Waited for at first, until the jitter is known.
  private static let firstDelay: Int64 = 40_000_000
  /// Above the greatest jitter that was seen.
  private static let margin: Int64 = 1_000_000
  /// The fastest that the estimate of the sender's clock moves, in millionths: three times the
  /// error of bad clocks.
  private static let fastestDrift: Int64 = 1000
  /// The fastest that the delay gets shorter, in millionths.
  private static let fastestShrink: Int64 = 2000
  /// How long the estimate follows at once: a server may send what it has stored first.
  private static let settling: Int64 = 2_000_000_000
  /// One look back consists of so many pieces of a second.
  private static let history = 60
  private static let piece: Int64 = 1_000_000_000
  /// How much times of the media may leap without being doubted.
  private static let greatestLeap: Int64 = 5_000_000_000
  /// How late a recording's reader may be before playing goes on from there.
  private static let patience: Int64 = 500_000_000

  private let isLive: Bool
  private var start: (instant: Instant, base: Int64)?
  private var last: (media: Int64, arrival: Instant, noted: Instant) = (
    0, Instant(nanoseconds: 0), Instant(nanoseconds: 0)
  )
  /// The clock's time minus the media's, for what comes without delay.
  private var base: Int64 = 0
  private var delay: Int64 = 0
  /// The least and the greatest of the differences in each piece of the last time.
  private var pieces: [(number: Int64, least: Int64, greatest: Int64)] = []
  public private(set) var statistics = Statistics()

  /// Makes the clock of a live source, or of a recording.
  public init(isLive: Bool) { self.isLive = isLive }

  /// Notes that what belongs to `media`, in nanoseconds on the timeline, is there.
  ///
  /// - Parameters:
  ///   - media: the presentation time.
  ///   - arrival: when its last packet arrived, by the source's clock in recordings.
  ///   - now: the time.
  public mutating func note(_ media: Int64, arrival: Instant, at now: Instant) {
    guard start != nil, !isLeap(to: media, arrival: arrival) else {
      return begin(at: media, arrival: arrival, now)
    }
    defer { last = (media, max(arrival, last.arrival), now) }
    guard isLive else { return }
    let difference = now.nanoseconds.subtractingSaturating(media)
    record(difference, at: now)
    follow(at: now)
    let lateness = difference.subtractingSaturating(base)
    if lateness > delay {
      statistics.late += 1
      delay = lateness.addingSaturating(Self.margin)
    } else {
      let greatest = pieces.map(\.greatest).max() ?? difference
      let wanted = greatest.subtractingSaturating(base).addingSaturating(Self.margin)
      let elapsed = last.noted.nanoseconds(to: now)
      delay = max(delay - elapsed / 1_000_000 * Self.fastestShrink, min(delay, wanted))
    }
    delay = min(max(delay, 0), Self.longestDelay.wholeNanoseconds)
    statistics.delay = .nanoseconds(delay)
  }

  /// When what belongs to `media` is to leave; `nil` before anything was noted.
  public func instant(of media: Int64) -> Instant? {
    guard start != nil else { return nil }
    return Instant(nanoseconds: media.addingSaturating(base).addingSaturating(delay))
  }

  /// Notes that what belongs to `media` leaves at `now`: a recording goes on from there if that is
  /// much too late.
  public mutating func left(_ media: Int64, at now: Instant) {
    guard !isLive, let due = instant(of: media), due.nanoseconds(to: now) > Self.patience else {
      return
    }
    statistics.restarts += 1
    base = now.nanoseconds.subtractingSaturating(media)
  }

  private mutating func begin(at media: Int64, arrival: Instant, _ now: Instant) {
    if start != nil { statistics.restarts += 1 }
    base = now.nanoseconds.subtractingSaturating(media)
    // What already waits of a recording leaves first.
    if !isLive, start != nil, let due = instant(of: last.media), due > now {
      base = due.nanoseconds.subtractingSaturating(media)
    }
    start = (now, base)
    delay = isLive ? max(delay, Self.firstDelay) : 0
    pieces = []
    last = (media, arrival, now)
    if isLive { record(base, at: now) }
  }

  /// Whether the times leap, further than the arrivals explain.
  private func isLeap(to media: Int64, arrival: Instant) -> Bool {
    let step = media.subtractingSaturating(last.media)
    let passed = max(0, last.arrival.nanoseconds(to: arrival))
    return step < -Self.greatestLeap || step > passed.addingSaturating(Self.greatestLeap)
  }

  private mutating func record(_ difference: Int64, at now: Instant) {
    let number = now.nanoseconds / Self.piece
    if let index = pieces.indices.last, pieces[index].number == number {
      pieces[index].least = min(pieces[index].least, difference)
      pieces[index].greatest = max(pieces[index].greatest, difference)
    } else {
      pieces.append((number, difference, difference))
    }
    pieces.removeAll { $0.number <= number - Int64(Self.history) }
  }

  /// Moves the estimate of the sender's clock towards the least difference of the last time.
  private mutating func follow(at now: Instant) {
    guard let start, let least = pieces.map(\.least).min() else { return }
    let age = start.instant.nanoseconds(to: now)
    let elapsed = last.noted.nanoseconds(to: now)
    let step = least.subtractingSaturating(base)
    if age < Self.settling, step < 0 {
      // All before was stored, and says nothing about the jitter.
      base = least
      self.start?.base = least
      pieces = pieces.suffix(1).map { ($0.number, least, least) }
      delay = Self.firstDelay
    } else {
      let most = max(1, elapsed / 1_000_000 * Self.fastestDrift)
      base += min(max(step, -most), most)
    }
    if age > 10 * Self.piece {
      statistics.drift = Double(start.base - base) / Double(age) * 1e6
    }
  }
}

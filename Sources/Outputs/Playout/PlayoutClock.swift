public import Bitstream
public import RTPWire

/// When each picture and each piece of sound is to leave, so that they leave at their own pace
/// although they come in bursts.
///
/// A live source sets the pace, and its clock is never quite ours: what came with the least delay
/// shows how they stand to each other, and the difference is followed in steps too small to notice.
/// A recording has no pace of its own; it begins when its first frame comes, and waits for a reader
/// that stops.
///
/// Times that leap are a new beginning. What was noted before it leaves by the times before it.
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

  /// What was noted, and is to leave at its time.
  public struct Ticket: Sendable, Hashable {
    /// Nanoseconds on the timeline, as it is played.
    fileprivate let media: Int64
    fileprivate let noted: Instant
    /// The number of the stretch that it belongs to.
    fileprivate let stretch: UInt64
  }

  /// The times since one beginning, which follow each other.
  fileprivate struct Stretch: Sendable {
    let number: UInt64
    var start: (instant: Instant, base: Int64)
    /// The clock's time minus the media's, for what comes without delay.
    var base: Int64
    var last: (media: Int64, arrival: Instant, noted: Instant)
    /// The least and the greatest of the differences in each piece of the last time.
    var pieces: [(number: Int64, least: Int64, greatest: Int64)] = []
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
  fileprivate static let history = 60
  fileprivate static let piece: Int64 = 1_000_000_000
  /// How much times of the media may leap without being doubted.
  private static let greatestLeap: Int64 = 5_000_000_000
  /// How long something may still belong before a leap that was seen: sound is quicker than
  /// pictures, which are decoded.
  private static let longestOverlap: Int64 = 5_000_000_000
  /// How many stretches are remembered; what waits from before them leaves at once.
  private static let mostStretches = 8
  /// How late a recording's reader may be before playing goes on from there.
  private static let patience: Int64 = 500_000_000

  private let isLive: Bool
  /// Turns times of a recording into those of this machine's clock.
  private let timebase: Timebase
  /// In the order in which they began.
  private var stretches: [Stretch] = []
  private var delay: Int64 = 0
  public private(set) var statistics = Statistics()

  /// Makes the clock of a live source, or of a recording that plays at `rate`.
  public init(isLive: Bool, rate: Rational? = nil) {
    self.isLive = isLive
    let start = Instant(nanoseconds: 0)
    timebase = rate.map { Timebase(at: 0, at: start, rate: $0) } ?? Timebase(at: 0, at: start)
  }

  /// Notes that what belongs to `media`, in nanoseconds on the timeline, is there.
  ///
  /// - Parameters:
  ///   - media: the presentation time.
  ///   - arrival: when its last packet arrived, by the source's clock in recordings.
  ///   - now: the time.
  /// - Returns: what says when it is to leave.
  @discardableResult
  public mutating func note(_ media: Int64, arrival: Instant, at now: Instant) -> Ticket {
    // A recording's times and arrivals are both by its own clock.
    let (media, arrival) = isLive ? (media, arrival) : (played(media), played(arrival))
    guard let index = stretch(of: media, arrival: arrival, at: now) else {
      return begin(at: media, arrival: arrival, now)
    }
    let ticket = Ticket(media: media, noted: now, stretch: stretches[index].number)
    let last = stretches[index].last
    defer { stretches[index].last = (media, max(arrival, last.arrival), now) }
    guard isLive else { return ticket }
    let difference = now.nanoseconds.subtractingSaturating(media)
    stretches[index].record(difference, at: now)
    follow(stretches[index].least, in: index, at: now)
    let base = stretches[index].base
    let lateness = difference.subtractingSaturating(base)
    if lateness > delay {
      statistics.late += 1
      delay = lateness.addingSaturating(Self.margin)
    } else {
      let greatest = stretches[index].pieces.map(\.greatest).max() ?? difference
      let wanted = greatest.subtractingSaturating(base).addingSaturating(Self.margin)
      let elapsed = last.noted.nanoseconds(to: now)
      delay = max(delay - elapsed / 1_000_000 * Self.fastestShrink, min(delay, wanted))
    }
    delay = min(max(delay, 0), Self.longestDelay.wholeNanoseconds)
    statistics.delay = .nanoseconds(delay)
    return ticket
  }

  /// When what was noted is to leave.
  ///
  /// Nothing live waits longer than ``longestDelay``, whatever its times are.
  public func instant(of ticket: Ticket) -> Instant {
    guard let stretch = stretches.first(where: { $0.number == ticket.stretch }) else {
      return ticket.noted
    }
    let due = Instant(
      nanoseconds: ticket.media.addingSaturating(stretch.base).addingSaturating(delay))
    return isLive ? min(due, ticket.noted.advanced(by: Self.longestDelay)) : due
  }

  /// Notes that it leaves at `now`: a recording goes on from there if that is much too late.
  public mutating func left(_ ticket: Ticket, at now: Instant) {
    guard !isLive, let index = stretches.firstIndex(where: { $0.number == ticket.stretch }) else {
      return
    }
    let lateness = instant(of: ticket).nanoseconds(to: now)
    guard lateness > Self.patience else { return }
    statistics.restarts += 1
    for index in index..<stretches.count {
      stretches[index].base = stretches[index].base.addingSaturating(lateness)
    }
  }

  private func played(_ media: Int64) -> Int64 {
    timebase.instant(of: media)?.nanoseconds ?? media
  }

  private func played(_ arrival: Instant) -> Instant {
    Instant(nanoseconds: played(arrival.nanoseconds))
  }

  /// The index of the stretch that `media` continues; `nil` where the times leap.
  private func stretch(of media: Int64, arrival: Instant, at now: Instant) -> Int? {
    stretches.indices.reversed().first { index in
      let last = stretches[index].last
      guard
        index == stretches.count - 1 || last.noted.nanoseconds(to: now) < Self.longestOverlap
      else { return false }
      // Further than the arrivals explain.
      let step = media.subtractingSaturating(last.media)
      let passed = max(0, last.arrival.nanoseconds(to: arrival))
      return step >= -Self.greatestLeap && step <= passed.addingSaturating(Self.greatestLeap)
    }
  }

  private mutating func begin(at media: Int64, arrival: Instant, _ now: Instant) -> Ticket {
    var start = now
    if let before = stretches.last {
      statistics.restarts += 1
      // What already waits of a recording leaves first.
      if !isLive { start = max(now, before.lastDue) }
    }
    let base = start.nanoseconds.subtractingSaturating(media)
    let number = (stretches.last?.number ?? 0) + 1
    var stretch = Stretch(
      number: number, start: (now, base), base: base, last: (media, arrival, now))
    delay = isLive ? max(delay, Self.firstDelay) : 0
    if isLive { stretch.record(base, at: now) }
    if stretches.count >= Self.mostStretches { stretches.removeFirst() }
    stretches.append(stretch)
    return Ticket(media: media, noted: now, stretch: number)
  }

  /// Moves the estimate of the sender's clock towards the `least` difference of the last time.
  private mutating func follow(_ least: Int64, in index: Int, at now: Instant) {
    var stretch = stretches[index]
    let age = stretch.start.instant.nanoseconds(to: now)
    let elapsed = stretch.last.noted.nanoseconds(to: now)
    let step = least.subtractingSaturating(stretch.base)
    if age < Self.settling, step < 0 {
      // All before was stored, and says nothing about the jitter.
      stretch.base = least
      stretch.start.base = least
      stretch.pieces = stretch.pieces.suffix(1).map { ($0.number, least, least) }
      delay = Self.firstDelay
    } else {
      let most = max(1, elapsed / 1_000_000 * Self.fastestDrift)
      stretch.base += min(max(step, -most), most)
    }
    if age > 10 * Self.piece {
      statistics.drift = Double(stretch.start.base - stretch.base) / Double(age) * 1e6
    }
    stretches[index] = stretch
  }
}

extension PlayoutClock.Stretch {
  /// When the last of a recording leaves.
  fileprivate var lastDue: Instant { Instant(nanoseconds: last.media.addingSaturating(base)) }

  fileprivate var least: Int64 { pieces.map(\.least).min() ?? base }

  fileprivate mutating func record(_ difference: Int64, at now: Instant) {
    let number = now.nanoseconds / PlayoutClock.piece
    if let index = pieces.indices.last, pieces[index].number == number {
      pieces[index].least = min(pieces[index].least, difference)
      pieces[index].greatest = max(pieces[index].greatest, difference)
    } else {
      pieces.append((number, difference, difference))
    }
    pieces.removeAll { $0.number <= number - Int64(PlayoutClock.history) }
  }
}

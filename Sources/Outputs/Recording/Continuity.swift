import Bitstream
import Defragment
import RTPWire

/// Judges whether pictures, or pieces of sound, can follow each other in one file, by their times
/// and arrivals.
struct Continuity: Sendable {
  /// How far the sender's clock may differ from the arrivals at a gap.
  ///
  /// A sender or a network that stalls, and then sends everything at once, is no leap: the times of
  /// its pictures go on.
  static let greatestLeap = Duration.seconds(1)
  /// A longer gap ends the file.
  static let longestGap = Duration.seconds(2)
  /// How far a key picture may lie before others: it is shown after all that were decoded before
  /// it, so that no order of decoding explains more than unsteady times.
  private static let greatestStepBack = Duration.milliseconds(100)
  /// How much further than the arrivals the first step may lead: of what is stored, pictures that
  /// are far apart come at once.
  private static let longestStep = Duration.seconds(60)
  /// A stream with few pictures has gaps between any two of them.
  private static let intervalsPerGap: Int64 = 8

  /// What comes next.
  enum Piece: Sendable {
    case sound
    /// `depth` is how many pictures its stream reorders, where it says that.
    case picture(depth: Int?)
    case keyPicture

    init(_ unit: AccessUnit) {
      self = unit.isEntryPoint ? .keyPicture : .picture(depth: unit.format?.reorderDepth)
    }

    var depth: Int? { if case .picture(let depth) = self { depth } else { nil } }
  }

  private var newest: MediaTime?
  private var recent = RecentTimes()
  private var arrival = Instant(nanoseconds: 0)
  /// The last distance between pictures, in nanoseconds; a leap of their clock does not change it.
  private var interval: Int64?

  /// Takes the next picture or piece of sound; why it cannot follow the ones before, if so.
  mutating func judge(
    _ piece: Piece, at time: MediaTime, arrival now: Instant
  ) -> FileReason? {
    guard let newest, newest.timescale == time.timescale else {
      let isFirst = newest == nil
      restart(time, arrival: now)
      return isFirst ? nil : .clock
    }
    let waited = arrival.nanoseconds(to: now)
    let step = time.nanoseconds(since: newest)
    let leap = Self.greatestLeap.wholeNanoseconds
    let isLeap =
      switch piece {
      case .sound: step < -leap
      case .picture: step < -leap && recent.areAll(after: time.ticks)
      case .keyPicture: step < -Self.greatestStepBack.wholeNanoseconds
      }
    if isLeap {
      restart(time, arrival: now)
      return .clock
    }
    // Of the first step, nobody knows how far pictures are apart.
    let unexplained = max(leap, interval.map(usual) ?? Self.longestStep.wholeNanoseconds)
    if step > unexplained,
      step.subtractingSaturating(waited) > (interval == nil ? unexplained : leap)
    {
      restart(time, arrival: now)
      return .clock
    }
    recent.append(time.ticks, depth: piece.depth)
    arrival = max(arrival, now)
    guard step > 0 else { return nil }
    defer {
      interval = step
      self.newest = time
    }
    guard let interval else { return nil }
    let usual = usual(interval)
    return step > max(Self.longestGap.wholeNanoseconds, usual) ? .outage : nil
  }

  private func usual(_ interval: Int64) -> Int64 {
    interval.multipliedSaturating(by: Self.intervalsPerGap)
  }

  private mutating func restart(_ time: MediaTime, arrival: Instant) {
    newest = time
    recent.restart(at: time.ticks)
    self.arrival = arrival
  }
}

import Bitstream
import NIOCore
import RTPWire

/// Puts interleaved units (RFC 3640 §3.2.3.2) into the order of their times.
///
/// The timestamps of packets increase, so nothing earlier than a packet follows it.
struct InterleavedSound: Sendable {
  enum Outcome: Sendable, Hashable {
    case waiting
    /// A later unit has gone on already, or one of the same time waits.
    case late
  }

  /// What may wait: several seconds of any sender's interleaving.
  static let maximumUnits = 256
  static let maximumBytes = 512 << 10

  /// Whether any unit was interleaved.
  private(set) var isInUse = false
  /// In the order of their times.
  private var waiting: [SoundUnit] = []
  private var bytes = 0
  /// Where the last unit that has gone on began and ended.
  private var last: (start: Int64, end: Int64)?

  mutating func insert(_ unit: SoundUnit) -> Outcome {
    isInUse = true
    let ticks = unit.time.ticks
    if let last, ticks <= last.start { return .late }
    let place = waiting.lastIndex { $0.time.ticks <= ticks }
    if let place, waiting[place].time.ticks == ticks { return .late }
    waiting.insert(unit, at: place.map { $0 + 1 } ?? 0)
    bytes += unit.bytes.readableBytes
    return .waiting
  }

  /// Whether `unit` is so much earlier than what has gone on that the sender's clock was set back.
  func isBefore(_ unit: SoundUnit, byMoreThan ticks: Int64) -> Bool {
    last.map { unit.time.ticks < $0.start.subtractingSaturating(ticks) } ?? false
  }

  /// The next unit that nothing can precede: one that continues the last one, one that is not later
  /// than the packet at `time`, or one for which there is no room.
  mutating func pop(upTo time: MediaTime) -> SoundUnit? {
    guard let first = waiting.first else { return nil }
    let ticks = first.time.ticks
    let isDue =
      last.map { ticks <= $0.end } ?? false || ticks <= time.ticks
      || waiting.count > Self.maximumUnits || bytes > Self.maximumBytes
    return isDue ? popAll() : nil
  }

  /// The next unit, whatever may precede it.
  mutating func popAll() -> SoundUnit? {
    guard !waiting.isEmpty else { return nil }
    let unit = waiting.removeFirst()
    bytes -= unit.bytes.readableBytes
    let (samples, overflow) = Int64(clamping: unit.sampleCount)
      .multipliedReportingOverflow(by: Int64(unit.time.timescale))
    let length = overflow ? 0 : samples / Int64(clamping: unit.format.sampleRate)
    last = (unit.time.ticks, unit.time.ticks.addingSaturating(length))
    return unit
  }
}

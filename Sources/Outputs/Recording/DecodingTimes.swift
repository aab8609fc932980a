import RTPWire

/// The decoding times of pictures, from their presentation times in decoding order.
///
/// Containers want both, and RTP says only when a picture is shown. With a reorder depth of N, a
/// picture is decoded when the one N places before it in the order of presentation is shown; the
/// first N are decoded at regular intervals before. Picture order counts are not asked: they need
/// not count pictures, and cameras get them wrong.
///
/// All times are ticks of one clock.
struct DecodingTimes: Sendable {
  /// One picture's times.
  struct Times: Sendable, Hashable {
    /// As asked for, or later where the depth was too small for it.
    var presentation: Int64
    /// Later than that of the picture before, and not later than ``presentation``.
    var decoding: Int64
    /// From the decoding time of the picture before to this one's, for a last picture.
    var duration: Int64
  }

  /// The most pictures that may precede one in decoding order and follow it in output order, in any
  /// stream (H.264 §E.2.1, H.265 §7.4.3.2.1).
  static let greatestDepth = 16

  /// Pictures whose presentation time had to be moved: the stream reorders more than it says.
  ///
  /// Those that have the time of the picture before are moved as well, but not reordered.
  private(set) var moved = 0
  private let depth: Int
  private let interval: Int64
  private let start: Int64
  private var placed = 0
  /// Presentation times of the last pictures, ascending: `depth` of them, and those to come.
  private var waiting: [Int64] = []
  private var last: Times?
  /// When the last picture was to be shown.
  private var lastAsked: Int64?

  /// Begins with the first pictures.
  ///
  /// - Parameters:
  ///   - depth: how many pictures may precede one in decoding order and follow it in output order.
  ///   - interval: from one picture to the next, until it is seen.
  ///   - first: the presentation times of the first pictures, at least `depth` + 1 where there are
  ///     so many.
  init(depth: Int, interval: Int64, first: some Collection<Int64>) {
    self.depth = min(max(depth, 0), Self.greatestDepth)
    self.interval = max(interval, 1)
    start = first.prefix(self.depth + 1).min() ?? 0
  }

  /// How far pictures with these presentation times, in decoding order, are reordered.
  static func depth(of presentations: some Sequence<Int64>) -> Int {
    var before: [Int64] = []
    var depth = 0
    for time in presentations {
      depth = max(depth, before.count { $0 > time })
      before.append(time)
    }
    return min(depth, greatestDepth)
  }

  /// The smallest distance between these presentation times; `nil` for less than two.
  static func interval(of presentations: some Sequence<Int64>) -> Int64? {
    let sorted = presentations.sorted()
    return zip(sorted, sorted.dropFirst()).map { $1.subtractingSaturating($0) }.filter { $0 > 0 }
      .min()
  }

  /// The times of the next picture, which is shown at `presentation`.
  mutating func place(_ presentation: Int64) -> Times {
    waiting.insert(presentation, at: waiting.firstIndex { $0 > presentation } ?? waiting.endIndex)
    var decoding: Int64
    if placed < depth {
      decoding = start.subtractingSaturating(
        interval.multipliedSaturating(by: Int64(depth - placed)))
    } else {
      decoding = waiting.removeFirst()
    }
    placed += 1
    if let last { decoding = max(decoding, last.decoding.addingSaturating(1)) }
    if decoding > presentation, presentation != lastAsked { moved += 1 }
    lastAsked = presentation
    let times = Times(
      presentation: max(presentation, decoding), decoding: decoding,
      duration: last.map { decoding.subtractingSaturating($0.decoding) } ?? interval)
    last = times
    return times
  }

  /// How long the last picture lasts if the next one, shown at `presentation`, begins times of its
  /// own, in which the first pictures are decoded as early as in these.
  func length(until presentation: Int64) -> Int64? {
    guard let last else { return nil }
    let decoding = presentation.subtractingSaturating(
      interval.multipliedSaturating(by: Int64(depth)))
    return max(decoding.subtractingSaturating(last.decoding), 1)
  }
}

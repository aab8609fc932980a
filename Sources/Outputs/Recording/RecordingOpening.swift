import Bitstream
import Defragment
import NIOCore
import RTPWire

/// The first pictures of a file, in decoding order.
struct RecordingOpening {
  /// How long the first pictures wait to see how they are reordered, and whether there is sound.
  static let learningTime = Duration.seconds(1)
  /// How many pictures at least show how a stream reorders that does not say it.
  ///
  /// A pyramid over 32 pictures shows it with its seventh.
  static let fewestToLearn = 8
  /// The longest that pictures wait to show it.
  static let longestLearning = Duration.seconds(5)
  /// How long pictures may pause, while sound comes, before they are taken as they are.
  static let longestPause = Duration.milliseconds(2500)
  /// The most that wait, in number and bytes.
  static let limit = 256
  static let byteLimit = 16 << 20

  /// The key picture.
  let first: AccessUnit
  /// The parameter sets that came by then, with it or before.
  let sets: StreamSets
  /// Those that it is decoded with.
  let header: StreamSets
  /// How much UTC was ahead of the clock of arrivals when it came, in nanoseconds.
  let clockOffset: Int64
  /// In the order of their times.
  private(set) var elements: [Interleaver.Element]
  private(set) var pictures = 1
  private(set) var leftOut = 0
  /// Received units that it holds.
  private(set) var items: Int
  private var bytes: Int
  /// Whether the learning time has passed.
  private(set) var isLong = false
  /// From the first picture to the latest one shown, and the longest time between two, in
  /// nanoseconds.
  private var newest: Int64 = 0
  private var longestStep: Int64 = 0
  /// From the first picture to the latest sound.
  private var newestSound: Int64 = 0

  init(with unit: AccessUnit, sets: StreamSets, header: StreamSets, clockOffset: Int64) {
    first = unit
    self.sets = sets
    self.header = header
    self.clockOffset = clockOffset
    elements = [.picture(unit)]
    items = unit.accessUnitCount
    bytes = unit.bytes.readableBytes
  }

  var format: FormatDescription? { first.format }

  /// The pictures, in decoding order.
  var units: [AccessUnit] {
    elements.compactMap { if case .picture(let unit) = $0 { unit } else { nil } }
  }

  /// Whether the pictures show how they are reordered: they are as many as that takes, and have
  /// followed each other for the learning time, not counting the longest pause; or nobody waits for
  /// more, because pictures are rare or sound alone comes.
  var showsDepth: Bool {
    let steady = newest.subtractingSaturating(longestStep)
    return pictures >= Self.fewestToLearn && steady >= Self.learningTime.wholeNanoseconds
      || newest >= Self.longestLearning.wholeNanoseconds
      || newestSound.subtractingSaturating(newest) >= Self.longestPause.wholeNanoseconds
  }

  var isFull: Bool { elements.count >= Self.limit || bytes >= Self.byteLimit }

  /// Whether `unit`, a key picture that brings the parameter sets `own`, can be in the same file.
  func isContinued(
    by unit: AccessUnit, with own: StreamSets, in container: Container
  ) -> Bool {
    unit.codec == first.codec && unit.time.timescale == first.time.timescale
      && container.goesOn(after: sets, with: own, of: unit.codec)
  }

  /// Adds `unit`, unless it is left out.
  mutating func append(_ unit: AccessUnit) -> Bool {
    guard unit.codec == first.codec, unit.time.timescale == first.time.timescale else {
      return false
    }
    guard !unit.leads(first.time) else {
      leftOut += 1
      return false
    }
    elements.append(.picture(unit))
    pictures += 1
    items += unit.accessUnitCount
    bytes += unit.bytes.readableBytes
    let time = unit.time.nanoseconds(since: first.time)
    longestStep = max(longestStep, time.subtractingSaturating(newest))
    newest = max(newest, time)
    noteSpan(time)
    return true
  }

  /// Adds sound; it shows as well that time has passed.
  mutating func append(_ sample: SoundTrack.Sample) {
    elements.append(.sound(sample))
    items += sample.items
    bytes += sample.bytes.readableBytes
    newestSound = max(newestSound, sample.start.subtractingSaturating(first.time.nanoseconds))
    noteSpan(newestSound)
  }

  private mutating func noteSpan(_ nanoseconds: Int64) {
    isLong = isLong || nanoseconds >= Self.learningTime.wholeNanoseconds
  }
}

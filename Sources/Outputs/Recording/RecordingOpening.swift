import Bitstream
import Defragment
import NIOCore
import RTPWire

/// The first pictures of a file, in decoding order.
struct RecordingOpening {
  /// How long the first pictures of a stream wait that does not say how it reorders.
  static let learningTime = Duration.seconds(1)
  /// The most that wait, in number and bytes.
  static let limit = 256
  static let byteLimit = 16 << 20

  /// The key picture.
  let first: AccessUnit
  /// The parameter sets that it needs.
  let sets: StreamSets
  /// How much UTC was ahead of the clock of arrivals when it came, in nanoseconds.
  let clockOffset: Int64
  /// In the order of their times.
  private(set) var elements: [Interleaver.Element]
  private(set) var pictures = 1
  private(set) var leftOut = 0
  /// Received units that it holds.
  private(set) var items = 1
  private var bytes: Int
  /// Whether enough came to see how the pictures are reordered, and whether there is sound.
  private(set) var isLong = false

  init(with unit: AccessUnit, sets: StreamSets, clockOffset: Int64) {
    first = unit
    self.sets = sets
    self.clockOffset = clockOffset
    elements = [.picture(unit)]
    bytes = unit.bytes.readableBytes
  }

  var format: FormatDescription? { first.format }

  /// The pictures, in decoding order.
  var units: [AccessUnit] {
    elements.compactMap { if case .picture(let unit) = $0 { unit } else { nil } }
  }

  var isFull: Bool { elements.count >= Self.limit || bytes >= Self.byteLimit }

  /// Whether `unit`, a key picture, can be in the same file.
  func isContinued(by unit: AccessUnit) -> Bool {
    unit.codec == first.codec && unit.time.timescale == first.time.timescale
      && sets.contains(StreamSets(in: unit))
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
    items += 1
    bytes += unit.bytes.readableBytes
    noteSpan(unit.time.nanoseconds(since: first.time))
    return true
  }

  /// Adds sound; it shows as well that time has passed.
  mutating func append(_ sample: SoundTrack.Sample) {
    elements.append(.sound(sample))
    items += sample.items
    bytes += sample.bytes.readableBytes
    noteSpan(sample.start.subtractingSaturating(first.time.nanoseconds))
  }

  private mutating func noteSpan(_ nanoseconds: Int64) {
    isLong = isLong || nanoseconds >= Self.learningTime.wholeNanoseconds
  }
}

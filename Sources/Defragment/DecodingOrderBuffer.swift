import NIOCore
import RTPWire

/// Puts NAL units back into decoding order by their decoding order numbers (RFC 6184 §7.2 for
/// packetization-mode 2, RFC 7798 §6 for `sprop-max-don-diff` above 0).
struct DecodingOrderBuffer: Sendable {
  struct Unit: Sendable {
    let bytes: ByteBuffer
    let time: MediaTime
    let arrival: Instant
    let isWhole: Bool
    let isPicture: Bool
    /// Numbers before it were passed over.
    var isBehindHole = false
  }

  /// Whatever the sender promised, no more than this waits.
  static let maximumBytes = 8 << 20
  /// The same in units: RFC 6184 §8.1 would allow 32,767, which nobody sends.
  static let maximumUnits = 4096

  private var bounds: InterleavingBounds
  /// In order of their numbers, extended to 64 bits.
  private var waiting = CircularBuffer<(number: Int64, unit: Unit)>()
  private var bytes = 0
  private var counted = 0
  private var unwrapper: SequenceUnwrapper?
  /// The number of the unit that left last.
  private var last: Int64?
  /// What was added to the numbers since they began afresh.
  private var shift: Int64 = 0

  init(bounds: InterleavingBounds) {
    self.bounds = bounds
    // An SDP may promise anything.
    self.bounds.units = min(max(bounds.units, 0), Self.maximumUnits)
  }

  /// Puts in `unit`; false when its turn has passed.
  mutating func insert(_ unit: Unit, number: UInt16) -> Bool {
    let number = SequenceNumber(number)
    var unwrapper = self.unwrapper ?? SequenceUnwrapper(first: number)
    let unwrapped = unwrapper.extend(number)
    unwrapper.advance(to: unwrapped)
    self.unwrapper = unwrapper
    let extended = followingJump(unwrapped + shift)
    if let last, extended < last { return false }
    if waiting.last.map({ $0.number <= extended }) ?? true {
      waiting.append((extended, unit))
    } else {
      let before = waiting.lastIndex { $0.number <= extended }
      let place = before.map { waiting.index(after: $0) } ?? waiting.startIndex
      waiting.insert((extended, unit), at: place)
    }
    bytes += unit.bytes.readableBytes
    if counts(unit) { counted += 1 }
    return true
  }

  /// Takes out the first unit if nothing can come before it any more.
  ///
  /// A number that follows the one before leaves at once; a gap waits until the bounds are reached.
  mutating func removeNext() -> Unit? {
    guard let first = waiting.first, let greatest = waiting.last else { return nil }
    let follows = last.map { first.number <= $0 + 1 } ?? false
    let isFull =
      counted > bounds.units || waiting.count > Self.maximumUnits || bytes > Self.maximumBytes
      || bounds.distance.map { greatest.number - first.number > Int64($0) } ?? false
    return follows || isFull ? removeFirst() : nil
  }

  /// Takes out the first unit, whatever may still come.
  mutating func removeFirst() -> Unit? {
    guard !waiting.isEmpty else { return nil }
    var (number, unit) = waiting.removeFirst()
    unit.isBehindHole = last.map { number > $0 + 1 } ?? false
    bytes -= unit.bytes.readableBytes
    if counts(unit) { counted -= 1 }
    last = number
    return unit
  }

  /// The number to sort `number` by.
  ///
  /// One that lies further back than the sender promised shows that the numbers have begun afresh,
  /// or that the greatest one was wrong: it stands for a start behind everything that waits. Without
  /// this, one wrong number would have all that come after it taken for late.
  private mutating func followingJump(_ number: Int64) -> Int64 {
    guard let greatest = waiting.last?.number ?? last else { return number }
    let promised = Int64(min(bounds.distance ?? max(4 * bounds.units, 64), Self.maximumUnits))
    guard greatest - number > promised else { return number }
    let start = greatest + 1 + promised
    shift += start - number
    return start
  }

  /// How many units may leave before one that was sent behind all that wait; some may come with each that is
  /// counted.
  var reach: Int { waiting.count + bounds.units * (bounds.countsPicturesAlone ? 8 : 1) }

  private func counts(_ unit: Unit) -> Bool { unit.isPicture || !bounds.countsPicturesAlone }

  /// Forgets the numbers: the stream starts afresh.
  mutating func restart() { self = DecodingOrderBuffer(bounds: bounds) }
}

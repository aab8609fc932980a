import NIOCore
import RTPWire

/// Puts NAL units back into decoding order by their decoding order numbers (RFC 6184 §7.2 for
/// packetization-mode 2, RFC 7798 §6 for `sprop-max-don-diff` above 0).
struct DecodingOrderBuffer: Sendable {
  struct Unit: Sendable {
    let bytes: ByteBuffer
    let time: MediaTime
    let arrival: Instant
    let packets: UnitPackets?
    let isWhole: Bool
    let isPicture: Bool
    /// Whether the numbers directly before this one never came.
    var isBehindHole = false
  }

  /// The most bytes that may wait, whatever the sender promised.
  static let maximumBytes = 8 << 20
  /// The most units that may wait; RFC 6184 §8.1 allows 32,767, but no known sender comes near.
  static let maximumUnits = 4096

  private var bounds: InterleavingBounds
  private var waiting = NumberedHeap<Unit>()
  private var bytes = 0
  private var counted = 0
  private var unwrapper: SequenceUnwrapper?
  /// The number of the last unit removed.
  private var last: Int64?
  /// The offset added to each number because the sender restarted its numbering.
  private var shift: Int64 = 0

  init(bounds: InterleavingBounds) {
    self.bounds = bounds
    // An SDP may promise anything.
    self.bounds.units = min(max(bounds.units, 0), Self.maximumUnits)
  }

  /// Inserts `unit`; returns false when a later number has already left.
  mutating func insert(_ unit: Unit, number: UInt16) -> Bool {
    let number = SequenceNumber(number)
    var unwrapper = self.unwrapper ?? SequenceUnwrapper(first: number)
    let unwrapped = unwrapper.extend(number)
    unwrapper.advance(to: unwrapped)
    self.unwrapper = unwrapper
    let extended = followingJump(unwrapped + shift)
    if let last, extended < last { return false }
    waiting.insert(unit, number: extended)
    bytes += unit.bytes.readableBytes
    if counts(unit) { counted += 1 }
    return true
  }

  /// Removes and returns the first unit, if no earlier one can still come.
  ///
  /// A unit whose number follows the last one leaves at once. After a gap, units wait until a bound
  /// is reached.
  mutating func removeNext() -> Unit? {
    guard let first = waiting.first, let greatest = waiting.greatest else { return nil }
    let follows = last.map { first <= $0 + 1 } ?? false
    let isFull =
      counted > bounds.units || waiting.count > Self.maximumUnits || bytes > Self.maximumBytes
      || bounds.distance.map { greatest - first > Int64($0) } ?? false
    return follows || isFull ? removeFirst() : nil
  }

  /// Removes and returns the first unit, even if an earlier one could still come.
  mutating func removeFirst() -> Unit? {
    guard let (number, removed) = waiting.removeFirst() else { return nil }
    var unit = removed
    unit.isBehindHole = last.map { number > $0 + 1 } ?? false
    bytes -= unit.bytes.readableBytes
    if counts(unit) { counted -= 1 }
    last = number
    return unit
  }

  /// The number by which to sort `number`.
  ///
  /// A number further back than the sender promised means that the numbering restarted, or that the
  /// highest number was wrong. It then begins a new run after everything that waits. Otherwise one
  /// wrong number would make every later unit look late.
  private mutating func followingJump(_ number: Int64) -> Int64 {
    guard let greatest = waiting.greatest ?? last else { return number }
    let promised = Int64(min(bounds.distance ?? max(4 * bounds.units, 64), Self.maximumUnits))
    guard greatest - number > promised else { return number }
    let start = greatest + 1 + promised
    shift += start - number
    return start
  }

  /// How many units may leave before one that was sent after all waiting units.
  ///
  /// If only pictures are counted, up to eight units are assumed for each.
  var reach: Int { waiting.count + bounds.units * (bounds.countsPicturesAlone ? 8 : 1) }

  private func counts(_ unit: Unit) -> Bool { unit.isPicture || !bounds.countsPicturesAlone }

  /// Discards all units and numbers, because the stream starts anew.
  mutating func restart() { self = DecodingOrderBuffer(bounds: bounds) }
}
